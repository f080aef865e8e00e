#include "runtime/timing.hpp"

#include <algorithm>

namespace gpuopt {

Span span_of(const std::vector<cl::Event>& events, double wall_ms, std::size_t uncounted) {
    Span span;
    span.wall_ms = wall_ms;
    if (events.empty()) return span;
    // Times of clocks that run backwards come out negative, not huge: all differences have a sign.
    cl_ulong first = ~cl_ulong(0), begin = 0, last = 0;
    cl_long busy = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto& event = events[i];
        const auto status = checked([&] { return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(); });
        if (status < 0) rethrow_opencl("kernel execution", status);
        const auto start = checked([&] { return event.getProfilingInfo<CL_PROFILING_COMMAND_START>(); });
        const auto end = checked([&] { return event.getProfilingInfo<CL_PROFILING_COMMAND_END>(); });
        first = std::min(first, start);
        if (i < uncounted) {
            begin = std::max(begin, end);
            continue;
        }
        last = std::max(last, end);
        busy += cl_long(end - start);
    }
    if (uncounted == 0) begin = first;
    const auto queued = checked([&] { return events.front().getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(); });
    span.device_ms = double(cl_long(last - begin)) / 1e6;
    span.all_ms = double(cl_long(last - first)) / 1e6;
    span.busy_ms = double(busy) / 1e6;
    span.queued_ms = double(first - std::min(first, queued)) / 1e6;
    return span;
}

void add_sample(Samples& samples, const Span& span, double start_s, std::size_t counted, std::size_t runs) {
    samples.start_s.push_back(start_s);
    samples.device_ms.push_back(span.device_ms / double(counted));
    samples.busy_ms.push_back(span.busy_ms / double(counted));
    samples.all_ms.push_back(span.all_ms / double(runs));
    samples.queued_ms.push_back(span.queued_ms);
    samples.wall_ms.push_back(span.wall_ms / double(runs));
}

}  // namespace gpuopt
