// One session a device, made on first use: context, in-order queues, built programs, memory and plans for later calls,
// and the locks that make them safe to share. It belongs to the process that made it: drivers' threads do not survive a
// fork.
#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/device.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/kept.hpp"
#include "runtime/pool.hpp"
#include "runtime/program.hpp"
#include "runtime/spin.hpp"
#include "runtime/staging.hpp"

namespace gpuopt {

class Session {
public:
    static std::shared_ptr<Session> of(const std::shared_ptr<const Device>& device);

    const Device& device() const { return *device_; }
    const std::shared_ptr<const Device>& shared_device() const { return device_; }
    const cl::Context& context() const { return context_; }
    // The queue of all that is not timed: its events have no times, which makes it faster.
    const cl::CommandQueue& queue() const { return queue_; }
    // The queue of what is timed, made on first use. Whoever uses it has finished `queue` before, and finishes this
    // one.
    const cl::CommandQueue& timing_queue();
    // Another in-order queue, for plans with steps that may run at the same time; made on first use.
    const cl::CommandQueue& second_queue();
    // The queue of copies that go on beside kernels of `queue`; made on first use. Whoever uses it has waited for what
    // they need.
    const cl::CommandQueue& copy_queue();
    // The same of copies to the host, which may go on beside those to the device, under a lock of their own.
    const cl::CommandQueue& download_queue();
    PatientMutex::Lock lock_downloads();
    void wait_for_queue();  // all that was enqueued before in `queue`; takes the lock of runs
    void caught_up();       // what fell behind was waited for otherwise; takes it too
    // An event of all that was enqueued before in `queue`, and the wait for it, which looks at signals.
    cl::Event mark();
    static void wait_for(const cl::Event& event) { wait_for(event, false); }
    static void wait_for(const cl::Event& event, const std::atomic<bool>& stop);  // returns early where `stop` says so
    std::shared_ptr<const Program> build(const std::string& kernel_path, const std::string& options);
    // The same for a text that is no file of ours.
    std::shared_ptr<const Program> build(const KernelSource& source, const std::string& options);

    // Held while commands are enqueued and waited for, so that one run's samples never contain another's; what an
    // interrupted run left on the device has ended then. Throws Error in a forked child, where a wait would never end,
    // and where the thread has the lock already, which a signal's handler finds that calls gpuopt within a wait; and
    // what a look at signals throws. Destructors, which must not wait for their own thread, get a lock that holds
    // nothing there.
    PatientMutex::Lock lock_runs(bool may_throw = true);
    // Waits for the queues; with a signal the call ends before they do, and `kept` lives until then.
    void finish_interruptibly(std::any kept);
    // Runs and builds that go on after interrupted calls.
    bool idle() { return runs_left_.idle() && builds_left_.idle(); }
    void wait_for_all() { runs_left_.wait_for_all(), builds_left_.wait_for_all(); }
    void finish_queues() noexcept;  // at the process's end
    // Commands were enqueued that nobody has waited for yet; about so long they take. Then `catch_up` waits for them
    // interruptibly, before a driver's own wait does. Call these under the lock of runs. `fall_behind_by` is told
    // the bytes that commands move, and counts none on CPU devices, which are waited for.
    void fall_behind(double ms) { behind_ms_ += ms; }
    void fall_behind_by(std::size_t bytes);
    void catch_up();
    // Sessions that were made, for what looks after all of them.
    static std::vector<std::shared_ptr<Session>> all();
    // Throws Error in a forked child, whose copy of a lock may be held by a thread that it does not have: call it
    // before any.
    void require_own_process() const;

    // Throws DeviceMemoryError for what cannot fit, before a driver over-commits or the machine swaps. `what` is the
    // argument's name.
    void require_room(std::size_t bytes, const std::string& what);
    void reserve(std::size_t bytes, const std::string& what);  // the same, and counts the bytes as taken
    void release(std::size_t bytes) { allocated_ -= bytes; }
    // Without what is kept for later calls, which is free.
    std::size_t allocated_bytes() const;

    // Memory and plans for later calls, and how often they served.
    BufferPool& pool() { return pool_; }
    Kept& plans() { return plans_; }
    void drop_kept() noexcept;  // both
    bool in_own_process() const noexcept;
    struct Counts {
        std::atomic<std::uint64_t> plans_made{0}, plans_reused{0}, buffers_made{0}, buffers_reused{0}, kernels_made{0},
            programs_built{0}, fills{0};
    };
    Counts counts;

    // Slots of pinned memory for a transfer of so many bytes; nullptr where it goes without: on CPU devices, whose
    // memory is the host's, where it is short, and where there is no such memory. Call under the lock of runs.
    StagingRing* staging(std::size_t bytes) { return staging(bytes, up_); }
    StagingRing* staging_beside(std::size_t bytes) { return staging(bytes, down_); }  // under the lock of downloads
    // Whether transfers are staged, and how, from now on (GPUOPT_STAGING sets it, too): for tests on CPU devices.
    void set_staging(bool on, const StagingSizes& sizes);
    std::optional<StagingSizes> staging_sizes();  // of what is staged; takes the lock of runs
    std::size_t slots_filled() const;             // so far, by both rings

    // What runs that are timed wait behind; nullptr where they wait for an event of ours: on CPU devices, whose threads
    // it would take, and where its time does not show. Call under the lock of runs.
    Spin* spin();
    bool set_spin(bool on);  // from now on, where its time shows: for tests on CPU devices

    // How often memory was moved: plans set their kernels' arguments again where the number is another one.
    std::uint64_t moves() const { return moves_; }
    void count_move() { ++moves_; }

private:
    explicit Session(std::shared_ptr<const Device> device);

    std::shared_ptr<const Device> device_;
    cl::Context context_;
    cl::CommandQueue queue_, second_queue_, timing_queue_, copy_queue_, download_queue_;
    std::mutex queues_mutex_;  // of the making of the others
    cl::CommandQueue made(cl::CommandQueue& queue, cl_command_queue_properties properties = CL_QUEUE_PROFILING_ENABLE);
    std::size_t free_bytes(std::size_t wanted) const;
    std::unique_ptr<ProgramCache> programs_;
    std::shared_ptr<const Program> built_by(const KernelSource& source, const std::string& options);
    std::map<std::pair<std::string, std::string>, std::shared_ptr<const Program>> known_;  // by kernel path and options
    std::mutex build_mutex_;
    PatientMutex run_mutex_, download_mutex_;
    bool spins_ = false;
    std::unique_ptr<Spin> spin_;
    std::atomic<bool> stages_ = false;
    struct Ring {
        StagingRing* slots = nullptr;  // never destroyed: its threads live as long as the process
        bool none = false;             // the system gave no pinned memory
    };
    StagingSizes staging_sizes_;
    StagingRing* staging(std::size_t bytes, Ring& ring);
    Ring up_, down_;
    Background runs_left_, builds_left_;
    double behind_ms_ = 0;
    std::atomic<std::size_t> allocated_{0};
    std::atomic<std::size_t> unasked_{0};  // bytes since the host was last asked what is free
    BufferPool pool_;
    Kept plans_;
    std::atomic<std::uint64_t> moves_{1};
    int pid_;
};

// A wait that may be longer than this is worth a thread of its own, which takes some 50 us to start.
constexpr double long_wait_ms = 100;

std::string readable_bytes(std::size_t bytes);

}  // namespace gpuopt
