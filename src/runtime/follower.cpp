#include "runtime/follower.hpp"

#include <chrono>
#include <system_error>
#include <utility>

#include "runtime/interrupt.hpp"
#include "runtime/trace.hpp"

namespace gpuopt {

Follower::Follower(Work work) : work_(std::move(work)) {
    try {
        thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error&) {  // there are no more threads: then the caller does the pieces
    }
}

Follower::~Follower() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Follower::go_on() {
    if (!thread_.joinable()) {
        work_(done_, stop_);
        ++done_;
        return;
    }
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++ready_;
    }
    changed_.notify_all();
}

void Follower::wait_for(std::int64_t pieces) {
    const Traced span("kernels");
    constexpr std::chrono::milliseconds step(look_every_ms);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, step, [&] { return done_ >= pieces || failure_; })) {
        lock.unlock();
        look_at_signals();
        lock.lock();
    }
    if (failure_) std::rethrow_exception(failure_);
}

// Its spans lie beside those of the caller, who notes the waits.
void Follower::serve() {
    const Traced::For noted_for(Traced::nobody);
    const NoLooks quiet;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stop_ || done_ < ready_; });
        if (stop_) return;
        const auto piece = done_;
        lock.unlock();
        std::exception_ptr failure;
        try {
            work_(piece, stop_);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        failure_ = failure;
        if (failure_) stop_ = true;
        else ++done_;
        changed_.notify_all();
    }
}

}  // namespace gpuopt
