// One session a device, made on first use: context, in-order profiling queues, built programs, and the locks that make
// them safe to share. It belongs to the process that made it: drivers' threads do not survive a fork.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/device.hpp"
#include "runtime/program.hpp"

namespace gpuopt {

class Session {
public:
    static std::shared_ptr<Session> of(const std::shared_ptr<const Device>& device);

    const Device& device() const { return *device_; }
    const std::shared_ptr<const Device>& shared_device() const { return device_; }
    const cl::Context& context() const { return context_; }
    const cl::CommandQueue& queue() const { return queue_; }
    // Another in-order queue, for plans with steps that may run at the same time; made on first use.
    const cl::CommandQueue& second_queue();
    std::shared_ptr<const Program> build(const std::string& kernel_path, const std::string& options);

    // Held while commands are enqueued and waited for, so that one run's samples never contain another's. Throws Error
    // in a forked child, where a wait would never end.
    std::unique_lock<std::mutex> lock_runs();
    // Throws Error in a forked child, whose copy of a lock may be held by a thread that it does not have: call it
    // before any.
    void require_own_process() const;

    // Throws DeviceMemoryError for what cannot fit, before a driver over-commits or the machine swaps. `what` is the
    // argument's name.
    void require_room(std::size_t bytes, const std::string& what) const;
    void reserve(std::size_t bytes, const std::string& what);  // the same, and counts the bytes as taken
    void release(std::size_t bytes) { allocated_ -= bytes; }
    std::size_t allocated_bytes() const { return allocated_; }

    // How often memory was moved: plans set their kernels' arguments again where the number is another one.
    std::uint64_t moves() const { return moves_; }
    void count_move() { ++moves_; }

private:
    explicit Session(std::shared_ptr<const Device> device);

    std::shared_ptr<const Device> device_;
    cl::Context context_;
    cl::CommandQueue queue_, second_queue_;
    std::once_flag second_made_;
    std::unique_ptr<ProgramCache> programs_;
    std::map<std::pair<std::string, std::string>, std::shared_ptr<const Program>> known_;  // by kernel path and options
    std::mutex build_mutex_, run_mutex_;
    std::atomic<std::size_t> allocated_{0};
    std::atomic<std::uint64_t> moves_{1};
    int pid_;
};

std::string readable_bytes(std::size_t bytes);

}  // namespace gpuopt
