#include "runtime/timing.hpp"

#include <algorithm>

namespace gpuopt {

void require_success(const std::vector<cl::Event>& events) {
    for (const auto& event : events) {
        const auto status = checked([&] { return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(); });
        if (status < 0) rethrow_opencl("kernel execution", status);
    }
}

Span span_of(const std::vector<cl::Event>& first, const std::vector<cl::Event>& last, double wall_ms, bool period,
             cl_ulong gate_end) {
    Span span;
    span.wall_ms = wall_ms;
    if (first.empty()) return span;
    // Times of clocks that run backwards come out negative, not huge: all differences have a sign.
    cl_ulong begin = ~cl_ulong(0), first_end = 0, end = 0;
    cl_long busy = 0;
    for (const auto* const events : {&first, &last}) {
        require_success(*events);
        for (const auto& event : *events) {
            const auto started = checked([&] { return event.getProfilingInfo<CL_PROFILING_COMMAND_START>(); });
            const auto ended = checked([&] { return event.getProfilingInfo<CL_PROFILING_COMMAND_END>(); });
            end = std::max(end, ended);
            if (events == &last) continue;
            begin = std::min(begin, started);
            first_end = std::max(first_end, ended);
            busy += cl_long(ended - started);
        }
    }
    const auto queued =
        std::max(gate_end, checked([&] { return first.front().getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(); }));
    span.device_ms = double(cl_long(end - (period ? first_end : begin))) / 1e6;
    span.all_ms = double(cl_long(end - begin)) / 1e6;
    span.busy_ms = double(busy) / 1e6;
    span.queued_ms = double(begin - std::min(begin, queued)) / 1e6;
    return span;
}

void add_sample(Samples& samples, const Span& span, double start_s, std::size_t counted, std::size_t runs) {
    samples.start_s.push_back(start_s);
    samples.device_ms.push_back(span.device_ms / double(counted));
    samples.busy_ms.push_back(span.busy_ms);
    samples.all_ms.push_back(span.all_ms / double(runs));
    samples.queued_ms.push_back(span.queued_ms);
    samples.wall_ms.push_back(span.wall_ms / double(runs));
}

}  // namespace gpuopt
