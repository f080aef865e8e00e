// The folder in which PoCL keeps what it compiles.
#pragma once

#include "runtime/device.hpp"

namespace gpuopt {

// Throws Error where the device is PoCL's and the disk of its cache is full: PoCL aborts the process there, at the
// first launch of a new kernel, with its cache switched off too (3.1, 2026-11).
void require_pocl_cache_space(const Device& device);

}  // namespace gpuopt
