// Raw samples of runs, from device events and from the host's clock. C++ takes samples; Python does the statistics.
#pragma once

#include <vector>

#include "runtime/opencl.hpp"

namespace gpuopt {

// What commands that were enqueued together took.
struct Span {
    double device_ms = 0;  // first START (or the end of what is not counted) to last END
    double all_ms = 0;     // first START to last END, of what is not counted too
    double busy_ms = 0;    // sum of END - START of what is counted
    double queued_ms = 0;  // QUEUED of the first command to its START
    double wall_ms = 0;    // host clock: enqueue, or the opening of the gate before them, to completion of all
};

struct Samples {
    std::vector<double> device_ms, busy_ms;  // as in Span, in ms a run that is counted
    std::vector<double> all_ms, wall_ms;     // the same, of all runs
    std::vector<double> queued_ms;           // of the first command of the sample
    std::vector<double> start_s;             // when the sample began, in seconds of the host's steady clock
};

// All commands must have completed; an event whose command failed throws OpenCLError.
// The first `uncounted` events are of a run whose end the time begins at.
Span span_of(const std::vector<cl::Event>& events, double wall_ms, std::size_t uncounted = 0);
void add_sample(Samples& samples, const Span& span, double start_s, std::size_t counted, std::size_t runs);

}  // namespace gpuopt
