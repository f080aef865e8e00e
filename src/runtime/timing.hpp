// Raw samples of runs, from device events and from the host's clock. C++ takes samples; Python does the statistics.
#pragma once

#include <vector>

#include "runtime/opencl.hpp"

namespace gpuopt {

// What commands that were enqueued together took.
struct Span {
    double device_ms = 0;  // first START to last END
    double busy_ms = 0;    // sum of END - START
    double queued_ms = 0;  // QUEUED of the first command to its START
    double wall_ms = 0;    // enqueue to completion, host clock
};

struct Samples {
    std::vector<double> device_ms, busy_ms, wall_ms;  // as in Span, in ms a run
    std::vector<double> queued_ms;                    // of the first command of the sample
};

// All commands must have completed; an event whose command failed throws OpenCLError.
Span span_of(const std::vector<cl::Event>& events, double wall_ms);
void add_sample(Samples& samples, const Span& span, std::size_t runs);

}  // namespace gpuopt
