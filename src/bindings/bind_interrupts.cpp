// Ctrl-C: how C++ looks at Python's signals, and what happens to work that goes on after an interrupted call.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "runtime/interrupt.hpp"

namespace gpuopt {
namespace {

std::atomic<double> heard_s{-1e9};

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Python runs its handlers in the main thread alone; elsewhere this is nothing. A caller that has the GIL may be
// waiting for one that wants it: the GIL is let go for a moment. An interpreter that ends hears of no signals, and has
// no lock to give: a daemon thread's call goes on to its end, so that it keeps no lock of ours.
void look(bool may_throw) {
    if (!Py_IsInitialized()) return;
    if (PyGILState_Check()) {
        const WithoutGil others_first;
        std::this_thread::yield();
    }
    if (!may_throw) return;
    const WithGil gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

bool idle() {
    for (const auto& session : Session::all())
        if (!session->idle()) return false;
    return true;
}

void wait_at_exit() {
    const WithoutGil release;
    for (const auto& session : Session::all()) session->wait_for_all();
}

// Daemon threads may be inside calls, and leave commands behind: a driver that is taken down under them ends the
// process by an abort.
void outlast_daemons() {
    if (!outlast_other_threads(10)) return;
    for (const auto& session : Session::all()) session->finish_queues();
}

// The next signal's number, 0 where none waits, -1 where none can come. The thread takes no signals itself, so nothing
// interrupts it.
int next_signal(int signals, bool wait) {
    pollfd waiting{signals, POLLIN, 0};
    char number = 0;
    if (poll(&waiting, 1, wait ? -1 : 0) > 0 && read(signals, &number, 1) != 1) return -1;
    return number;
}

// As long as it lives, the thread takes no signals, nor do those that it starts.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

// A thread without the GIL, which code that never looks at signals may hold: ends the process where Python's handler
// has not called `hear_interrupt` in time. The handler may run before this thread knows of the signal: hence the
// second. Signals that come while it waits are part of the same Ctrl-C.
void end_if_unheard(int signals, double seconds, int code, const std::string& message) {
    const auto end = [=] {
        for (int number = 0; (number = next_signal(signals, true)) != -1;) {
            if (number != SIGINT) continue;
            const auto came_s = now_s();
            poll(nullptr, 0, static_cast<int>(seconds * 1e3));
            while (next_signal(signals, false) > 0) continue;
            if (heard_s > came_s - 1) continue;
            [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
            _exit(code);
        }
    };
    const SignalsBlocked blocked;
    try {
        std::thread(end).detach();
    } catch (const std::system_error& error) {
        throw Error(std::string("there is no thread to wait for Ctrl-C: ") + error.what());
    }
}

// An interrupt that came through the code of a text, as that of dataclasses is, stays noted in CPython until another
// text runs: `python -m` would end by a signal, whatever code it was to end with.
void forget_interrupt() { PyRun_SimpleString(""); }

}  // namespace

std::shared_ptr<void> Operand::keeper() const { return is_device() ? nullptr : keeper_of(owner); }

std::shared_ptr<void> keeper_of(py::handle object) {
    return {object.inc_ref().ptr(), [](void* held) {
                if (!Py_IsInitialized()) return;  // the interpreter has gone, and nobody can give the array back
                const WithGil gil;
                Py_DECREF(static_cast<PyObject*>(held));
            }};
}

void bind_interrupts(py::module_& module) {
    set_signal_look(&look);
    py::module_::import("atexit").attr("register")(py::cpp_function(&wait_at_exit));
    Py_AtExit(&outlast_daemons);  // after all of Python's own
    module.def("idle", &idle, "False while a device or a compiler still works for a call that was interrupted.");
    module.def("forget_interrupt", &forget_interrupt);
    module.def("hear_interrupt", [] { heard_s = now_s(); });
    module.def("end_if_unheard", &end_if_unheard, py::arg("signals"), py::arg("seconds"), py::arg("code"),
               py::arg("message"));
}

}  // namespace gpuopt
