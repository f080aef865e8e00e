#include "runtime/timing.hpp"

#include <algorithm>

namespace gpuopt {

void add_sample(Samples& samples, const std::vector<cl::Event>& events, std::size_t runs, double wall_ms) {
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
    const double scale = 1e-6 / double(runs);
    if (events.empty()) first = last;
    samples.device_ms.push_back(double(last - first) * scale);
    samples.busy_ms.push_back(double(busy) * scale);
    samples.queued_ms.push_back(
        events.empty()
            ? 0.0
            : double(first - std::min(first, checked([&] {
                                          return events.front().getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>();
                                      }))) *
                  1e-6);
    samples.wall_ms.push_back(wall_ms / double(runs));
}

}  // namespace gpuopt
