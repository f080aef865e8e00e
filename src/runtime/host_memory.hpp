// What this process can still take of the host's memory.
#pragma once

#include <cstddef>
#include <string>

namespace gpuopt {

// In bytes: what the machine has left, what each of the process's control groups and those above them leave, and what
// its own limits of addresses and data do, the least; SIZE_MAX where nothing is known. A test compares it with
// `gpuopt.host_memory.free_bytes`. `root` is the folder of /proc and /sys.
std::size_t host_free_bytes(const std::string& root = "/");

// Whether the process has such limits of its own.
bool process_is_limited();

}  // namespace gpuopt
