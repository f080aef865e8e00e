#include "bindings/gil.hpp"

#include <chrono>
#include <thread>

namespace gpuopt {
namespace {

template <class F>
auto or_stand_still(const F& take) {
    try {
        return take();
    } catch (...) {  // nothing is thrown but the end of the thread
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

}  // namespace

WithoutGil::WithoutGil() : thread_(PyEval_SaveThread()) {}

WithoutGil::~WithoutGil() {
    or_stand_still([&] { PyEval_RestoreThread(thread_); });
}

WithGil::WithGil() : before_(or_stand_still([] { return PyGILState_Ensure(); })) {}

WithGil::~WithGil() { PyGILState_Release(before_); }

}  // namespace gpuopt
