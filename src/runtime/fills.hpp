// Filling buffers of any size.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/opencl.hpp"

namespace gpuopt {

// Enqueues commands that fill the first `bytes` of a buffer; returns the event of the last one. The queue is in order.
cl::Event enqueue_fill(const cl::CommandQueue& queue, const cl::Buffer& buffer, unsigned char byte, std::size_t bytes,
                       const std::vector<cl::Event>* wait = nullptr);

}  // namespace gpuopt
