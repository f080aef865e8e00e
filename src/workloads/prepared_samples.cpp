// Samples of a plan: groups of runs behind a gate, in the queue whose events have times. The gate is a kernel that
// takes time, on GPUs, or an event of ours.
#include <algorithm>
#include <chrono>

#include "workloads/prepared.hpp"

namespace gpuopt {
namespace {

class InTimingQueue {
public:
    explicit InTimingQueue(bool& flag) : flag_(flag) { flag_ = true; }
    ~InTimingQueue() { flag_ = false; }
    InTimingQueue(const InTimingQueue&) = delete;
    InTimingQueue& operator=(const InTimingQueue&) = delete;

private:
    bool& flag_;
};

constexpr std::size_t most_commands = 1024;  // behind a gate

}  // namespace

std::size_t Prepared::runs_behind_a_gate() const {
    if (asks_) return 1;  // an answer would wait for the gate
    return std::max<std::size_t>(1, most_commands / std::max<std::size_t>(1, commands()));
}

Prepared::Ends Prepared::enqueue_runs(std::size_t runs, Ask of_first, const cl::Event* gate) {
    Ends ends;
    ends.first = enqueue(of_first, gate);
    for (std::size_t i = 1; i < runs; ++i) ends.last = enqueue(i + 1 == runs ? Ask::last : Ask::none);
    return ends;
}

// The wall time of runs behind a gate begins where the gate opens: how long the host takes to queue them is no part.
Span Prepared::timed_to_the_end(const Ends& ends, std::size_t runs, bool period, Clock::time_point start,
                                const Spin* gate) {
    finish(expected_ms() * double(runs));
    const std::chrono::duration<double, std::milli> wall_ms = Clock::now() - start;
    const auto span = span_of(ends.first, ends.last, wall_ms.count(), period, gate ? gate->end() : 0);
    const auto took_ms = (span.all_ms > 0 ? std::min(span.all_ms, span.wall_ms) : span.wall_ms) / double(runs);
    run_ms_ = run_ms_ < 0 ? took_ms : std::min(run_ms_, took_ms);
    return span;
}

Span Prepared::without_gate(std::size_t runs, bool period, Ask of_first) {
    const auto start = Clock::now();
    Ends ends;
    try {
        ends = enqueue_runs(runs, of_first);
    } catch (...) {  // a step that was enqueued before must not outlive the buffers it works on
        settle();
        throw;
    }
    return timed_to_the_end(ends, runs, period, start);
}

Span Prepared::behind_an_event(std::size_t runs, bool period, Ask of_first) {
    cl::UserEvent gate = checked([&] { return cl::UserEvent(session_->context()); });
    Ends ends;
    try {
        ends = enqueue_runs(runs, of_first, &gate);
    } catch (...) {
        clSetUserEventStatus(gate(), -1);  // an unset gate would leave the queue blocked for good
        settle();
        throw;
    }
    const auto start = Clock::now();
    checked([&] { return gate.setStatus(CL_COMPLETE); });
    return timed_to_the_end(ends, runs, period, start);
}

// Nothing where the spin ended before all was enqueued, so that the device waited for the host between short runs.
std::optional<Span> Prepared::behind_a_spin(Spin& spin, std::size_t runs, bool period, Ask of_first) {
    Ends ends;
    double enqueuing_ms = 0;
    bool in_time = false;
    try {
        spin.start(queue(), runs * commands());
        const auto start = Clock::now();
        ends = enqueue_runs(runs, of_first);
        flush();
        enqueuing_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        in_time = spin.goes_on();
        spin.wait();
    } catch (...) {
        settle();
        throw;
    }
    const auto span = timed_to_the_end(ends, runs, period, Clock::now(), &spin);
    spin.learn(enqueuing_ms);
    const bool longer_than_enqueuing = expected_ms() > 2 * enqueuing_ms / double(runs);
    if (!in_time && !longer_than_enqueuing) return std::nullopt;
    return span;
}

// A single command needs no gate: it is the device's alone from its START to its END. Of several, the host's pace would
// be between them.
Span Prepared::run_group(std::size_t runs, bool period, Ask of_first) {
    constexpr int most_tries = 4;
    if (runs > runs_behind_a_gate() || runs * commands() == 1) return without_gate(runs, period, of_first);
    if (auto* const spin = asks_ || runs * commands() > most_commands ? nullptr : session_->spin())
        for (int tries = 0; tries < most_tries; ++tries)
            if (const auto span = behind_a_spin(*spin, runs, period, of_first)) return *span;
    return runs == 1 ? without_gate(runs, period, of_first) : behind_an_event(runs, period, of_first);
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
