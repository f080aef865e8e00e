#include "runtime/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include "runtime/fork.hpp"
#include "runtime/host_memory.hpp"
#include "runtime/large_pages.hpp"
#include "runtime/trace.hpp"

namespace gpuopt {
std::string readable_bytes(std::size_t bytes) {
    char text[64];
    if (bytes < 10'000'000) std::snprintf(text, sizeof text, "%zu bytes", bytes);
    else std::snprintf(text, sizeof text, "%.2f GB (%zu bytes)", double(bytes) * 1e-9, bytes);
    return text;
}

namespace {

// What is kept for later calls: an eighth of the memory in the pool and a sixteenth in plans; of a CPU's, which others
// use too, a quarter of a GB.
std::size_t most_kept(const Device& device, std::size_t part) {
    const auto share = static_cast<std::size_t>(device.global_bytes) / part;
    return device.type == DeviceType::cpu ? std::min(share, std::size_t(256) << 20) : share;
}

}  // namespace

Session::Session(std::shared_ptr<const Device> device)
    : device_(std::move(device)), pool_(most_kept(*device_, 8)), plans_(most_kept(*device_, 16)), pid_(getpid()) {
    context_ = checked([&] { return cl::Context(device_->handle); });
    queue_ = checked([&] { return cl::CommandQueue(context_, device_->handle); });
    programs_ = std::make_unique<ProgramCache>(context_, device_);
    spins_ = device_->type != DeviceType::cpu;
    const char* const staging = std::getenv("GPUOPT_STAGING");
    stages_ = staging && *staging ? std::string(staging) != "0" : device_->type != DeviceType::cpu;
    staging_sizes_.threads =
        std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, staging_sizes_.threads);
}

namespace {

ForkSafeMutex& sessions_mutex() {
    static auto& mutex = *new ForkSafeMutex();
    return mutex;
}

std::map<int, std::shared_ptr<Session>>& sessions() {
    static auto& made = *new std::map<int, std::shared_ptr<Session>>();  // never destroyed: drivers may go before
    return made;                                                         // statics do
}

}  // namespace

std::shared_ptr<Session> Session::of(const std::shared_ptr<const Device>& device) {
    const auto known = [&]() -> std::shared_ptr<Session>& { return sessions()[device->index]; };
    {
        const std::lock_guard<ForkSafeMutex> lock(sessions_mutex());
        if (known()) return known();
    }
    refuse_fork();
    static auto& making = *new std::mutex();  // drivers take their time, and a fork does not wait for it
    const std::lock_guard<std::mutex> one(making);
    {
        const std::lock_guard<ForkSafeMutex> lock(sessions_mutex());
        if (known()) return known();
    }
    const std::shared_ptr<Session> made(new Session(device));
    const std::lock_guard<ForkSafeMutex> lock(sessions_mutex());
    return known() = made;
}

std::vector<std::shared_ptr<Session>> Session::all() {
    const std::lock_guard<ForkSafeMutex> lock(sessions_mutex());
    std::vector<std::shared_ptr<Session>> found;
    for (const auto& [index, session] : sessions())
        if (session && session->pid_ == getpid()) found.push_back(session);
    return found;
}

const cl::CommandQueue& Session::second_queue() {
    made(second_queue_);
    return second_queue_;
}

const cl::CommandQueue& Session::timing_queue() {
    made(timing_queue_);
    return timing_queue_;
}

const cl::CommandQueue& Session::copy_queue() {
    made(copy_queue_, 0);
    return copy_queue_;
}

const cl::CommandQueue& Session::download_queue() {
    made(download_queue_, 0);
    return download_queue_;
}

PatientMutex::Lock Session::lock_downloads() {
    require_own_process();
    return download_mutex_.lock();
}

cl::CommandQueue Session::made(cl::CommandQueue& queue, cl_command_queue_properties properties) {
    require_own_process();
    const std::lock_guard<std::mutex> lock(queues_mutex_);
    if (!queue()) queue = checked([&] { return cl::CommandQueue(context_, device_->handle, properties); });
    return queue;
}

void Session::wait_for_queue() {
    const auto lock = lock_runs();
    catch_up();
    checked([&] { return queue_.finish(); });
}

void Session::caught_up() {
    const auto lock = lock_runs();
    behind_ms_ = 0;
}

cl::Event Session::mark() {
    const auto lock = lock_runs();
    cl::Event event;
    checked([&] {
        queue_.enqueueMarkerWithWaitList(nullptr, &event);
        return queue_.flush();
    });
    return event;
}

void Session::wait_for(const cl::Event& event, const std::atomic<bool>& stop) {
    constexpr auto pause = std::chrono::microseconds(50);
    const Traced span("kernels");
    for (; !stop; std::this_thread::sleep_for(pause)) {
        const auto status = checked([&] { return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(); });
        if (status < 0) rethrow_opencl("kernel execution", status);
        if (status == CL_COMPLETE) return;
        look_now_and_then();
    }
}

bool Session::in_own_process() const noexcept { return pid_ == getpid(); }

void Session::require_own_process() const {
    if (pid_ != getpid())
        throw Error("this array, matrix or plan on " + device_->name +
                    " was made before a fork; start processes by spawn, e.g. multiprocessing.get_context(\"spawn\")");
}

PatientMutex::Lock Session::lock_runs(bool may_throw) {
    require_own_process();  // first: the mutex of a forked child may be held by a thread that it does not have
    auto lock = run_mutex_.lock(may_throw);
    if (lock.owns_lock()) runs_left_.wait(may_throw);
    return lock;
}

void Session::catch_up() {
    if (std::exchange(behind_ms_, 0) > long_wait_ms) finish_interruptibly({});
}

void Session::fall_behind_by(std::size_t bytes) {
    constexpr double bytes_a_ms = 1e9;
    if (device_->type != DeviceType::cpu) fall_behind(double(bytes) / bytes_a_ms);
}

StagingRing* Session::staging(std::size_t bytes, Ring& ring) {
    if (!stages_ || bytes < staging_sizes_.slot_bytes / 4) return nullptr;
    if (!ring.slots && !ring.none) try {
            ring.slots = new StagingRing(context_, copy_queue(), staging_sizes_);
        } catch (const Error&) {  // the driver's own way is slower, and right
            ring.none = true;
        }
    return ring.slots;
}

std::size_t Session::slots_filled() const {
    std::size_t count = 0;
    for (const auto& ring : {up_, down_}) count += ring.slots ? ring.slots->slots_filled() : 0;
    return count;
}

Spin* Session::spin() {
    if (spins_ && !spin_) try {
            spin_ = std::make_unique<Spin>(build("common/spin.cl", ""), context_, timing_queue());
        } catch (const Error&) {
            spins_ = false;
        }
    return spins_ ? spin_.get() : nullptr;
}

bool Session::set_spin(bool on) {
    const auto lock = lock_runs();
    spins_ = on;
    return spin() != nullptr;
}

std::optional<StagingSizes> Session::staging_sizes() {
    const auto lock = lock_runs();
    return stages_ ? std::optional(staging_sizes_) : std::nullopt;
}

void Session::set_staging(bool on, const StagingSizes& sizes) {
    const auto lock = lock_runs();
    const auto downloads = lock_downloads();
    stages_ = on;
    staging_sizes_ = sizes;
    up_ = down_ = {};
}

void Session::finish_interruptibly(std::any kept) {
    std::vector<cl::CommandQueue> queues{queue_};
    {
        const std::lock_guard<std::mutex> lock(queues_mutex_);
        for (const auto& other : {timing_queue_, second_queue_})
            if (other()) queues.push_back(other);
    }
    runs_left_.run([queues = std::move(queues), kept = std::move(kept)] {
        if (queues.size() > 1)
            for (const auto& queue : queues) checked([&] { return queue.flush(); });
        for (const auto& queue : queues) checked([&] { return queue.finish(); });
    });
}

std::shared_ptr<const Program> Session::built_by(const KernelSource& source, const std::string& options) {
    ++counts.programs_built;
    const Traced span("build");
    return programs_->build(source, options);
}

// A compiler cannot be stopped either: an interrupted build goes on, and is there for the next call.
std::shared_ptr<const Program> Session::build(const std::string& kernel_path, const std::string& options) {
    require_own_process();
    const auto changing = kernels_may_change();
    if (const std::unique_lock<std::mutex> lock(build_mutex_, std::try_to_lock); lock.owns_lock() && !changing)
        if (const auto known = known_.find({kernel_path, options}); known != known_.end()) return known->second;
    const auto built = std::make_shared<std::shared_ptr<const Program>>();
    builds_left_.run([this, kernel_path, options, changing, built] {
        const std::lock_guard<std::mutex> lock(build_mutex_);
        if (changing) {
            *built = built_by(load_kernel(kernel_path), options);
            return;
        }
        // Expanding and hashing a source takes 0.2 ms, as long as a small product.
        const auto known = known_.find({kernel_path, options});
        *built = known != known_.end() ? known->second : built_by(load_kernel(kernel_path), options);
        known_[{kernel_path, options}] = *built;
    });
    return *built;
}

std::shared_ptr<const Program> Session::build(const KernelSource& source, const std::string& options) {
    require_own_process();
    const auto built = std::make_shared<std::shared_ptr<const Program>>();
    builds_left_.run([this, source, options, built] {
        const std::lock_guard<std::mutex> lock(build_mutex_);
        *built = built_by(source, options);
    });
    return *built;
}

std::size_t Session::allocated_bytes() const {
    const auto kept = plans_.bytes(), all = allocated_.load();
    return all > kept ? all - kept : 0;
}

void Session::finish_queues() noexcept {
    if (!in_own_process()) return;
    for (const auto& queue : {queue_, second_queue_, timing_queue_, copy_queue_, download_queue_})
        if (queue()) clFinish(queue());
}

void Session::drop_kept() noexcept {
    plans_.clear();  // whose memory goes to the pool
    pool_.clear();
}

// Reading /proc takes tens of microseconds.
constexpr std::size_t worth_asking = std::size_t(64) << 20;

// Without what is kept for later calls. A CPU device's memory is the host's, and its own figure includes what others
// use.
std::size_t Session::free_bytes(std::size_t wanted) const {
    const std::size_t limit = device_->global_bytes, taken = allocated_ + pool_.bytes();
    const auto free = limit > taken ? limit - taken : 0;
    const bool asks = device_->type == DeviceType::cpu && (unasked_ + wanted >= worth_asking || process_is_limited());
    return asks ? std::min(free, host_free_bytes()) : free;
}

void Session::require_room(std::size_t bytes, const std::string& what) {
    if (bytes > device_->max_alloc_bytes)
        throw DeviceMemoryError(what + " needs " + readable_bytes(bytes) + " in one buffer; " + device_->name +
                                " allows " + readable_bytes(device_->max_alloc_bytes) +
                                "; use a smaller problem or another device");
    auto free = free_bytes(bytes);
    if (bytes > free) {
        drop_kept();
        if (device_->type == DeviceType::cpu) drop_pages();
        free = free_bytes(bytes);
    }
    if (bytes > free)
        throw DeviceMemoryError(what + " needs " + readable_bytes(bytes) + "; " + device_->name + " has " +
                                readable_bytes(free) + " left; free DeviceArrays or use a smaller problem");
}

void Session::reserve(std::size_t bytes, const std::string& what) {
    require_own_process();
    require_room(bytes, what);
    allocated_ += bytes;
    unasked_ = unasked_ + bytes < worth_asking ? unasked_ + bytes : 0;
}

}  // namespace gpuopt
