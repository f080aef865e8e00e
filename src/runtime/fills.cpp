#include "runtime/fills.hpp"

#include <algorithm>

#include "runtime/error.hpp"

namespace gpuopt {
namespace {

// NVIDIA's fill fails where it crosses 4 GiB, and the queue with it (580.159.04).
constexpr std::size_t filled_at_once = std::size_t(1) << 24;

}  // namespace

cl::Event enqueue_fill(const cl::CommandQueue& queue, const cl::Buffer& buffer, unsigned char byte, std::size_t bytes,
                       const std::vector<cl::Event>* wait) {
    cl::Event last;
    checked([&] {
        const auto first = std::min(bytes, filled_at_once);
        if (bytes % 4 == 0) queue.enqueueFillBuffer(buffer, cl_uint(byte) * 0x01010101u, 0, first, wait, &last);
        else queue.enqueueFillBuffer(buffer, byte, 0, first, wait, &last);
        for (auto at = first; at < bytes; at += first)
            queue.enqueueCopyBuffer(buffer, buffer, 0, at, std::min(first, bytes - at), nullptr, &last);
        return 0;
    });
    return last;
}

}  // namespace gpuopt
