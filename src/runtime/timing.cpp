#include "runtime/timing.hpp"

#include <algorithm>

namespace gpuopt {

Span span_of(const std::vector<cl::Event>& events, double wall_ms) {
    Span span;
    span.wall_ms = wall_ms;
    if (events.empty()) return span;
    cl_ulong first = ~cl_ulong(0), last = 0, busy = 0;
    for (const auto& event : events) {
        const auto status = checked([&] { return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(); });
        if (status < 0) rethrow_opencl("kernel execution", status);
        const auto start = checked([&] { return event.getProfilingInfo<CL_PROFILING_COMMAND_START>(); });
        const auto end = checked([&] { return event.getProfilingInfo<CL_PROFILING_COMMAND_END>(); });
        first = std::min(first, start);
        last = std::max(last, end);
        busy += end - start;
    }
    const auto queued = checked([&] { return events.front().getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(); });
    span.device_ms = double(last - first) / 1e6;
    span.busy_ms = double(busy) / 1e6;
    span.queued_ms = double(first - std::min(first, queued)) / 1e6;
    return span;
}

void add_sample(Samples& samples, const Span& span, std::size_t runs) {
    samples.device_ms.push_back(span.device_ms / double(runs));
    samples.busy_ms.push_back(span.busy_ms / double(runs));
    samples.queued_ms.push_back(span.queued_ms);
    samples.wall_ms.push_back(span.wall_ms / double(runs));
}

}  // namespace gpuopt
