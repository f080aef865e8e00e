// What this process can still take of the host's memory.
#pragma once

#include <cstddef>
#include <string>

namespace gpuopt {

// In bytes: what the machine has left, and what each of the process's control groups and those above them leave, the
// least; SIZE_MAX where nothing is known. A test compares it with `gpuopt.host_memory.free_bytes`. `root` is the folder
// of /proc and /sys.
std::size_t host_free_bytes(const std::string& root = "/");

}  // namespace gpuopt
