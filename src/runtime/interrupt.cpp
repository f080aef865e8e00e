#include "runtime/interrupt.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/fork.hpp"
#include "runtime/trace.hpp"

namespace gpuopt {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds step(look_every_ms);

std::atomic<void (*)(bool)> look{nullptr};
thread_local bool looks = true;

// One piece of work, shared by the thread that does it and the call that waits for it.
struct Work {
    std::function<void()> body;
    std::exception_ptr failure;
    bool done = false;   // the body has returned
    bool ended = false;  // and what it holds was given back, unless the call was left
    bool left = false;   // the call ended before `ended`
};

}  // namespace

void set_signal_look(void (*given)(bool)) { look = given; }

NoLooks::NoLooks() { looks = false; }
NoLooks::~NoLooks() { looks = true; }

void look_at_signals(bool may_throw) {
    if (auto* const given = look.load(); given && looks) given(may_throw);
}

void look_now_and_then() {
    thread_local auto last = Clock::now();
    const auto now = Clock::now();
    if (now - last < step) return;
    last = now;
    look_at_signals();
}

// What a left call's body holds is given back after others may go on: it may be memory whose end waits for this work.
void Background::run(std::function<void()> body) {
    const auto work = std::make_shared<Work>();
    work->body = std::move(body);
    const auto in_a_thread = [this, work, caller = Traced::thread()] {
        const Traced::For noted_for(caller);
        std::exception_ptr failure;
        try {
            work->body();
        } catch (...) {
            failure = std::current_exception();
        }
        std::unique_lock<std::mutex> lock(mutex_);
        work->failure = std::move(failure);
        work->done = true;
        if (work->left) --left_;
        changed_.notify_all();
        lock.unlock();
        work->body = nullptr;
        lock.lock();
        work->ended = true;
        if (work->left) --holding_;
        changed_.notify_all();
    };
    try {
        std::thread(in_a_thread).detach();
    } catch (const std::system_error&) {  // there are no more threads: then the work is waited for here
        work->body();
        return;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, step, [&] { return work->ended; })) {
        lock.unlock();
        try {
            look_at_signals();
        } catch (...) {
            const std::lock_guard<std::mutex> again(mutex_);
            work->left = !work->ended;
            if (!work->done) ++left_;
            if (!work->ended) ++holding_;
            throw;
        }
        lock.lock();
    }
    if (work->failure) std::rethrow_exception(work->failure);
}

PatientMutex::Lock PatientMutex::lock(bool may_throw) {
    refuse_fork();
    std::unique_lock<std::mutex> state(mutex_);
    while (!freed_.wait_for(state, step, [&] { return !held_; })) {
        if (holder_ == std::this_thread::get_id()) {
            if (!may_throw) return {};
            throw Error(
                "a signal's handler called gpuopt while a call of the same thread goes on; let the handler set a "
                "flag, and compute when the call has returned");
        }
        state.unlock();
        look_at_signals(may_throw);
        state.lock();
    }
    held_ = true;
    holder_ = std::this_thread::get_id();
    return Lock(*this, std::adopt_lock);
}

void PatientMutex::unlock() {
    const std::lock_guard<std::mutex> state(mutex_);
    held_ = false;
    freed_.notify_one();
}

void Background::wait_for(const std::size_t& none, bool may_throw) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (none > 0 && !changed_.wait_for(lock, step, [&] { return none == 0; })) {
        lock.unlock();
        look_at_signals(may_throw);
        lock.lock();
    }
}

bool Background::idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return holding_ == 0;
}

}  // namespace gpuopt
