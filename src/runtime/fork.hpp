// What a forked child finds: drivers' threads and locks do not survive a fork, so a child of a process that has used
// OpenCL calls no driver, not even to let go of what it inherited.
#pragma once

#include <mutex>

namespace gpuopt {

// Whether this process is the fork of one that had used OpenCL.
bool is_fork() noexcept;
// Throws Error in such a process. Call it before any lock that is held for long: a thread that there is no more may
// hold it.
void refuse_fork();
// OpenCL is used from now on.
void mark_opencl_used();

// A mutex that a forked child finds free: `fork` waits until no thread holds one. For short sections, in which nothing
// is waited for that a forking thread may hold.
class ForkSafeMutex {
public:
    ForkSafeMutex();
    ~ForkSafeMutex();
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

private:
    std::mutex mutex_;
};

}  // namespace gpuopt
