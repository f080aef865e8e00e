#include "runtime/fork.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace gpuopt {
namespace {

std::atomic<bool> used{false}, forked{false};

struct Listed {
    std::mutex mutex;
    std::vector<std::mutex*> all;
};

Listed& listed() {
    static auto& made = *new Listed;  // never destroyed: a process may fork while its statics go
    return made;
}

// All of them or none: a thread that holds one may wait for another.
bool try_to_hold_all() {
    auto& all = listed().all;
    for (auto next = all.begin(); next != all.end(); ++next) {
        if ((*next)->try_lock()) continue;
        std::for_each(all.begin(), next, [](std::mutex* held) { held->unlock(); });
        return false;
    }
    return true;
}

void before_fork() {
    listed().mutex.lock();
    while (!try_to_hold_all()) sched_yield();
}

void after_fork() {
    for (auto* const held : listed().all) held->unlock();
    listed().mutex.unlock();
}

// Drivers wait for their threads when a process exits (Intel's: for commands that no thread will finish). Output was
// written by Python by then; what C's streams hold is written here.
#ifdef __GLIBC__
void leave_before_drivers(int status, void*) {
    std::fflush(nullptr);
    _exit(status);
}
#endif

void in_child() {
    if (used && !forked) {
        forked = true;
#ifdef __GLIBC__
        on_exit(leave_before_drivers, nullptr);
#endif
    }
    after_fork();
}

}  // namespace

bool is_fork() noexcept { return forked; }
void mark_opencl_used() noexcept { used = true; }

ForkSafeMutex::ForkSafeMutex() {
    auto& known = listed();
    const std::lock_guard<std::mutex> lock(known.mutex);
    static const int handled = pthread_atfork(before_fork, after_fork, in_child);
    static_cast<void>(handled);  // it fails where there is no memory; then a fork may find one held
    known.all.push_back(&mutex_);
}

ForkSafeMutex::~ForkSafeMutex() {
    auto& known = listed();
    const std::lock_guard<std::mutex> lock(known.mutex);
    known.all.erase(std::find(known.all.begin(), known.all.end(), &mutex_));
}

}  // namespace gpuopt
