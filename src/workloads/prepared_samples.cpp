// Samples of a plan: groups of runs behind a gate, in the queue whose events have times.
#include <algorithm>
#include <chrono>

#include "workloads/prepared.hpp"

namespace gpuopt {
namespace {

using Clock = std::chrono::steady_clock;

class InTimingQueue {
public:
    explicit InTimingQueue(bool& flag) : flag_(flag) { flag_ = true; }
    ~InTimingQueue() { flag_ = false; }
    InTimingQueue(const InTimingQueue&) = delete;
    InTimingQueue& operator=(const InTimingQueue&) = delete;

private:
    bool& flag_;
};

}  // namespace

std::size_t Prepared::runs_behind_a_gate() const {
    constexpr std::size_t most_commands = 1024;
    if (asks_) return 1;  // an answer would wait for the gate
    return std::max<std::size_t>(1, most_commands / std::max<std::size_t>(1, commands()));
}

// The wall time of runs behind a gate begins where the gate opens: how long the host takes to queue them is no part.
Span Prepared::run_group(std::size_t runs, bool period, Ask of_first) {
    auto start = Clock::now();
    std::vector<cl::Event> first, last;
    const auto enqueue_all = [&](const cl::Event* gate) {
        first = enqueue(of_first, gate);
        for (std::size_t i = 1; i < runs; ++i) last = enqueue(i + 1 == runs ? Ask::last : Ask::none);
    };
    if (runs == 1 || runs > runs_behind_a_gate()) {
        try {
            enqueue_all(nullptr);
        } catch (...) {  // a step that was enqueued before must not outlive the buffers it works on
            settle();
            throw;
        }
    } else {
        cl::UserEvent gate = checked([&] { return cl::UserEvent(session_->context()); });
        try {
            enqueue_all(&gate);
        } catch (...) {
            gate.setStatus(-1);  // an unset gate would leave the queue blocked for good
            settle();
            throw;
        }
        start = Clock::now();
        checked([&] { return gate.setStatus(CL_COMPLETE); });
    }
    finish(expected_ms() * double(runs));
    const std::chrono::duration<double, std::milli> wall_ms = Clock::now() - start;
    const auto span = span_of(first, last, wall_ms.count(), period);
    const auto took_ms = (span.all_ms > 0 ? std::min(span.all_ms, span.wall_ms) : span.wall_ms) / double(runs);
    run_ms_ = run_ms_ < 0 ? took_ms : std::min(run_ms_, took_ms);
    return span;
}

Samples Prepared::sample(std::size_t count, std::size_t batch, bool period) {
    if (Recording::now())
        throw ParameterError("call", "it takes samples, which are many runs of one plan", "give a plain call");
    Samples samples;
    const std::size_t uncounted = period ? 1 : 0;
    constexpr double longest_group_ms = 5000;  // what an interrupted call may leave on the device
    const auto at_once = [&] {
        const auto runs = std::min(double(runs_behind_a_gate()), longest_group_ms / std::max(expected_ms(), 1e-3));
        return std::max<std::size_t>(1, static_cast<std::size_t>(runs) - std::min(uncounted, std::size_t(runs)));
    };
    const auto lock = session_->lock_runs();
    session_->catch_up();
    finish();  // the other queue
    const InTimingQueue timing(timed_);
    const bool is_long = commands() > 2 && !two_queues_;
    if (is_long && busy_ms_ < 0 && count > 0) busy_ms_ = std::max(0.0, run_group(1).busy_ms);
    for (std::size_t i = 0; i < count; ++i) {
        Span whole;
        std::size_t runs = 0;
        const std::chrono::duration<double> start = Clock::now().time_since_epoch();
        for (std::size_t left = batch, counted; left > 0; left -= counted) {
            counted = std::min(left, at_once());
            const auto span = run_group(counted + uncounted, period, is_long ? Ask::ends : Ask::all);
            runs += counted + uncounted;
            if (left == batch) {
                whole.queued_ms = span.queued_ms;
                whole.busy_ms = is_long ? busy_ms_ : span.busy_ms;
            }
            whole.device_ms += span.device_ms;
            whole.all_ms += span.all_ms;
            whole.wall_ms += span.wall_ms;
            look_now_and_then();
        }
        add_sample(samples, whole, start.count(), batch, runs);
    }
    return samples;
}

}  // namespace gpuopt
