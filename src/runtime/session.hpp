// One session a device, made on first use: context, in-order profiling queues, built programs, and the lock that makes
// them safe to share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device.hpp"
#include "runtime/program.hpp"

namespace gpuopt {

class Session {
public:
    static std::shared_ptr<Session> of(const std::shared_ptr<const Device>& device);

    const Device& device() const { return *device_; }
    const std::shared_ptr<const Device>& shared_device() const { return device_; }
    const cl::Context& context() const { return context_; }
    cl::CommandQueue queue(std::size_t index = 0);
    std::shared_ptr<const Program> build(const std::string& kernel_path, const std::string& options);
    std::shared_ptr<const Program> load_binary(const std::string& label, const std::string& binary,
                                               const std::string& options);

    // Held while commands are enqueued and waited for, so that one run's samples never contain another's.
    std::mutex& run_mutex() { return run_mutex_; }

    // Throws DeviceMemoryError for what cannot fit, before a driver over-commits or the machine swaps. `what` is the
    // argument's name.
    void require_room(std::size_t bytes, const std::string& what) const;
    void reserve(std::size_t bytes, const std::string& what);  // the same, and counts the bytes as taken
    void release(std::size_t bytes) { allocated_ -= bytes; }
    std::size_t allocated_bytes() const { return allocated_; }

private:
    explicit Session(std::shared_ptr<const Device> device);

    std::shared_ptr<const Device> device_;
    cl::Context context_;
    std::vector<cl::CommandQueue> queues_;
    std::unique_ptr<ProgramCache> programs_;
    std::mutex build_mutex_, run_mutex_, queue_mutex_;
    std::atomic<std::size_t> allocated_{0};
};

std::string readable_bytes(std::size_t bytes);

}  // namespace gpuopt
