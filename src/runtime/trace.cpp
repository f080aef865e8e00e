#include "runtime/trace.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/fork.hpp"

namespace gpuopt {
namespace {

constexpr std::size_t most_spans = 1'000'000;

struct Noted {
    ForkSafeMutex mutex;
    std::vector<Traced::Span> spans;
};

Noted& noted() {
    static auto& all = *new Noted();  // never destroyed: threads of drivers may outlive statics
    return all;
}

thread_local std::int64_t waiting = 0;  // the thread that waits for this one

}  // namespace

Traced::For::For(std::int64_t thread) { waiting = thread; }
Traced::For::~For() { waiting = 0; }

std::int64_t Traced::thread() { return waiting ? waiting : syscall(SYS_gettid); }

std::atomic<bool> Traced::on_{false};

void Traced::set(bool on) {
    auto& all = noted();
    const std::lock_guard<ForkSafeMutex> lock(all.mutex);
    all.spans.clear();
    on_ = on;
}

std::vector<Traced::Span> Traced::spans() {
    auto& all = noted();
    const std::lock_guard<ForkSafeMutex> lock(all.mutex);
    return all.spans;
}

void Traced::note(const char* name, std::int64_t begin_ns) noexcept {
    if (waiting == nobody) return;
    const auto end_ns = now_ns();
    auto& all = noted();
    try {
        const std::lock_guard<ForkSafeMutex> lock(all.mutex);
        if (all.spans.size() < most_spans) all.spans.push_back({name, begin_ns, end_ns, thread()});
    } catch (...) {  // no memory for it: the trace lacks a span
    }
}

}  // namespace gpuopt
