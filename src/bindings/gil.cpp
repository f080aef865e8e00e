#include "bindings/gil.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/fork.hpp"

namespace gpuopt {
namespace {

std::atomic<int> without{0};  // scopes of threads that let the lock go

[[noreturn]] void stand_still() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

template <class F>
auto or_stand_still(const F& take) {
    try {
        return take();
    } catch (...) {  // nothing is thrown but the end of the thread
        stand_still();
    }
}

}  // namespace

WithoutGil::WithoutGil() : thread_(PyEval_SaveThread()) { ++without; }

WithoutGil::~WithoutGil() {
    --without;
    or_stand_still([&] { PyEval_RestoreThread(thread_); });
}

bool outlast_other_threads(double seconds) {
    if (is_fork()) return false;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (without > 0 && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return without == 0;
}

WithGil::WithGil() : before_(or_stand_still([] { return PyGILState_Ensure(); })) {}

WithGil::~WithGil() { PyGILState_Release(before_); }

}  // namespace gpuopt
