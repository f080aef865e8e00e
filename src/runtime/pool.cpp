#include "runtime/pool.hpp"

#include <algorithm>
#include <utility>

#include "runtime/fills.hpp"

namespace gpuopt {

cl::Buffer BufferPool::take(std::size_t bytes) {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.bytes == bytes; });
    if (found == entries_.end()) return {};
    auto buffer = std::move(found->buffer);
    entries_.erase(found);
    bytes_ -= bytes;
    return buffer;
}

void BufferPool::give(cl::Buffer buffer, std::size_t bytes) noexcept {
    std::list<Entry> dropped;  // destroyed when the lock is gone: drivers may take their time
    if (bytes > most_bytes_) return;
    try {
        const std::lock_guard<ForkSafeMutex> lock(mutex_);
        entries_.push_front({bytes, std::move(buffer)});
        bytes_ += bytes;
        while (bytes_ > most_bytes_ || entries_.size() > most_entries) {
            bytes_ -= entries_.back().bytes;
            dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
        }
    } catch (...) {  // no memory for an entry: the buffer goes
    }
}

void BufferPool::clear() noexcept {
    std::list<Entry> dropped;
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    dropped.swap(entries_);
    bytes_ = 0;
}

std::size_t BufferPool::bytes() const {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    return bytes_;
}

void BufferPool::fill(const cl::CommandQueue& queue, unsigned char byte) {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    for (const auto& entry : entries_) enqueue_fill(queue, entry.buffer, byte, entry.bytes);
    checked([&] { return queue.finish(); });
}

}  // namespace gpuopt
