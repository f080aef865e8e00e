#include "runtime/fork.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <unordered_set>

#include "runtime/error.hpp"

namespace gpuopt {
namespace {

std::atomic<bool> used{false}, forked{false};

struct Listed {
    std::mutex mutex;
    std::unordered_set<std::mutex*> all;
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

// The list is let go between two tries: a thread that holds one of them may be making another.
void before_fork() {
    for (;; sched_yield()) {
        listed().mutex.lock();
        if (try_to_hold_all()) return;
        listed().mutex.unlock();
    }
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

// Where there is no memory for the handlers, a fork may find a lock held, and is not noticed.
void handle_forks() {
    static const int handled = pthread_atfork(before_fork, after_fork, in_child);
    static_cast<void>(handled);
}

}  // namespace

bool is_fork() noexcept { return forked; }

void refuse_fork() {
    if (is_fork())
        throw Error(
            "this array, matrix or plan was made before a fork; start processes by spawn, e.g. "
            "multiprocessing.get_context(\"spawn\")");
}

void mark_opencl_used() {
    handle_forks();
    used = true;
}

ForkSafeMutex::ForkSafeMutex() {
    handle_forks();
    auto& known = listed();
    const std::lock_guard<std::mutex> lock(known.mutex);
    known.all.insert(&mutex_);
}

ForkSafeMutex::~ForkSafeMutex() {
    auto& known = listed();
    const std::lock_guard<std::mutex> lock(known.mutex);
    known.all.erase(&mutex_);
}

}  // namespace gpuopt
