// Ctrl-C in waits. OpenCL's waits cannot be ended, so a long one runs in a thread of its own, while the caller's thread
// looks every few milliseconds whether a signal came. If so the call ends; the other thread goes on to the wait's end
// and keeps what the commands work on until then.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace gpuopt {

// How to look: whoever runs the interpreter sets it. It throws where the call shall end, and lets other threads have
// what they wait for (the GIL). With `may_throw` false it does the latter alone.
void set_signal_look(void (*look)(bool may_throw));
void look_at_signals(bool may_throw = true);
// The same, but only where the last look of this thread was some time ago: for loops whose rounds are short.
void look_now_and_then();
// A thread that has one looks at no signals: the thread that waits for it does.
class NoLooks {
public:
    NoLooks();
    ~NoLooks();
    NoLooks(const NoLooks&) = delete;
    NoLooks& operator=(const NoLooks&) = delete;
};

// A mutex that is held for as long as a kernel or a build takes: whoever waits for it looks at signals, and lets others
// have the GIL, so a caller with the GIL and one with the mutex do not wait for each other for ever. A handler of a
// signal that wants it while a call of its own thread holds it gets an Error: that call cannot go on before the
// handler. A destructor, which a handler or a collection runs there, gets a lock that holds nothing. In a forked child
// the mutex is refused.
// (std::timed_mutex would do, but GCC 12's thread sanitizer does not know how it waits.)
class PatientMutex {
public:
    using Lock = std::unique_lock<PatientMutex>;
    Lock lock(bool may_throw = true);
    void unlock();

private:
    std::mutex mutex_;
    std::condition_variable freed_;
    bool held_ = false;
    std::thread::id holder_{};
};

// Waits that go on after their calls were interrupted.
class Background {
public:
    // Runs `body`, which blocks, in a thread, and waits for it; throws what it throws, or what the look throws. What
    // `body` holds is given back when it has returned.
    void run(std::function<void()> body);
    // Until what interrupted calls left has returned.
    void wait(bool may_throw = true) { wait_for(left_, may_throw); }
    // Until, moreover, all that it held was given back.
    void wait_for_all() { wait_for(holding_, true); }
    bool idle();

private:
    void wait_for(const std::size_t& none, bool may_throw);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t left_ = 0, holding_ = 0;  // calls that ended before their work; those whose memory is held as well
};

constexpr int look_every_ms = 25;

}  // namespace gpuopt
