// Python's lock around C++ code, in place of pybind11's guards. A daemon thread may want the lock back when the
// interpreter has begun to end: Python before 3.14 ends the thread there by unwinding its stack, and the first
// destructor that lets nothing through ends the process. Such a thread stands still for the rest of the process, as
// Python 3.14 has it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

namespace gpuopt {

// Without the lock, for as long as it lives. As a call guard of functions, not of `py::init` with a function of ours:
// pybind11 enters the new object in its map of instances within the guard, and threads that do so at a time break it.
class WithoutGil {
public:
    WithoutGil();
    ~WithoutGil();
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

private:
    PyThreadState* thread_;
};

// Once the interpreter has ended, when no thread gets the lock any more: waits until those that had let it go are back,
// for at most so long, and says whether they are. In a forked child, which does not have them, they never are.
bool outlast_other_threads(double seconds);

// With the lock, in any thread.
class WithGil {
public:
    WithGil();
    ~WithGil();
    WithGil(const WithGil&) = delete;
    WithGil& operator=(const WithGil&) = delete;

private:
    PyGILState_STATE before_;
};

// Keeps an object alive until the last copy is gone, in whatever thread. Call with the lock.
std::shared_ptr<void> keeper_of(pybind11::handle object);

}  // namespace gpuopt
