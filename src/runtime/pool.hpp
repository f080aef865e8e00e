// Device memory that is free for the next buffer of the same size: making and dropping an object costs more than a
// small kernel (0.1 ms from 256 KB on, H200, driver 580).
#pragma once

#include <cstddef>
#include <list>
#include <mutex>

#include "runtime/opencl.hpp"

namespace gpuopt {

// Commands that are under way may still use what is given: the next buffer's own come after them in the session's one
// queue. What it holds counts as free memory, and is dropped before a call is refused for want of memory.
class BufferPool {
public:
    explicit BufferPool(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    cl::Buffer take(std::size_t bytes);  // a null handle where there is none of exactly this size
    void give(cl::Buffer buffer, std::size_t bytes) noexcept;
    void clear() noexcept;
    std::size_t bytes() const;
    // Sets every byte of all that it holds: for tests, which show that nobody reads what an earlier call left.
    void fill(const cl::CommandQueue& queue, unsigned char byte);

private:
    static constexpr std::size_t most_entries = 256;
    struct Entry {
        std::size_t bytes;
        cl::Buffer buffer;
    };

    const std::size_t most_bytes_;
    mutable ForkSafeMutex mutex_;
    std::list<Entry> entries_;  // what was given last comes first
    std::size_t bytes_ = 0;
};

}  // namespace gpuopt
