// Copies between a caller's memory and a device through pinned memory. A driver copies other memory in one thread,
// through pinned memory of its own: here several threads do, while the device reads or writes the slots that are ready.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/opencl.hpp"

namespace gpuopt {

// Rows of the host's, `pitch` bytes from each to the next (0 and below too).
struct HostRows {
    unsigned char* data = nullptr;
    std::ptrdiff_t pitch = 0;
    std::size_t row_bytes = 0, rows = 1;

    std::size_t bytes() const { return row_bytes * rows; }
};

// Threads that wait for work; they live as long as the process, and use nothing of Python's.
class CopyThreads {
public:
    explicit CopyThreads(std::size_t count) : most_(count) {}
    std::size_t most() const { return most_; }
    // Runs `body` in `count` threads at once, or as many as there are, one of them the caller's (`body(true)`). Throws
    // what the caller's threw, such as a signal's error, or else what another threw first, when all have returned.
    void run(std::size_t count, const std::function<void(bool callers)>& body);

private:
    bool begin(std::size_t others, const std::function<void(bool callers)>& body);
    void serve(std::size_t number);

    const std::size_t most_;
    std::mutex mutex_;
    std::condition_variable begun_, ended_;
    const std::function<void(bool)>* body_ = nullptr;
    std::size_t threads_ = 0, wanted_ = 0;
    std::atomic<std::size_t> working_ = 0;  // written under the mutex, as the next one
    std::atomic<std::uint64_t> round_ = 0;
    std::exception_ptr failure_;
};

// Measured on H200s with 16 cores (results/h200/whole-calls/copies.txt, products.txt): 256 MiB take 6.1 ms up and 6.5
// down; 4 threads instead of 8 take 1.3 to 1.7 times as long.
struct StagingSizes {
    std::size_t slot_bytes = std::size_t(2) << 20, slots = 16, threads = 8;
    // Copies of a product's rows go on beside kernels in blocks of so many bytes, where it has so many multiply-adds
    // for each element of A and of the result. In ms, at once and in blocks: 8192^3 39 and 30, 16384 x 4096 x 2048 17
    // and 14 (1365 for each), 32768 x 2048 x 512 10 and 11 (410).
    std::size_t block_bytes = std::size_t(64) << 20;
    double beside = 1e3;
};

// Slots of pinned memory. One transfer at a time: whoever calls holds the session's lock of runs, or of downloads.
class StagingRing {
public:
    // Throws OpenCLError or DeviceMemoryError where there is no such memory.
    StagingRing(const cl::Context& context, const cl::CommandQueue& queue, const StagingSizes& sizes);
    StagingRing(const StagingRing&) = delete;
    StagingRing& operator=(const StagingRing&) = delete;

    // Both return when the transfer is complete, or throw when nothing of it goes on. They look at signals.
    void upload(const cl::CommandQueue& queue, const cl::Buffer& to, std::size_t at, const HostRows& rows);
    void download(const cl::CommandQueue& queue, const cl::Buffer& from, std::size_t at, const HostRows& rows);
    std::size_t slots_filled() const { return slots_filled_; }

private:
    struct Transfer;
    Transfer transfer_of(std::size_t bytes) const;
    unsigned char* slot(const Transfer& transfer, std::size_t piece) const;
    void work(Transfer& transfer, const cl::CommandQueue& queue, const std::function<void(std::size_t)>& move_piece);

    StagingSizes sizes_;
    CopyThreads threads_;
    cl::Buffer memory_;
    unsigned char* data_ = nullptr;
    std::atomic<std::size_t> slots_filled_ = 0;
};

}  // namespace gpuopt
