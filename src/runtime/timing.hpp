// Raw samples of runs, from device events and from the host's clock. C++ takes samples; Python does the statistics.
#pragma once

#include <vector>

#include "runtime/opencl.hpp"

namespace gpuopt {

// What runs that were enqueued together took.
struct Span {
    double device_ms = 0;  // first START (or the end of the first run, where that is not counted) to last END
    double all_ms = 0;     // first START to last END
    double busy_ms = 0;    // sum of END - START over these commands of the first run
    double queued_ms = 0;  // QUEUED of the first command, or the end of the gate before it, to its START
    double wall_ms = 0;    // host clock: enqueue, or the opening of the gate before them, to completion of all
};

struct Samples {
    std::vector<double> device_ms;           // as in Span, in ms a run that is counted
    std::vector<double> all_ms, wall_ms;     // the same, of all runs
    std::vector<double> busy_ms, queued_ms;  // of the first run, and of its first command
    std::vector<double> start_s;             // when the sample began, in seconds of the host's steady clock
};

// All commands must have completed; an event whose command failed throws OpenCLError. `gate_end` is by the device's
// clock, 0 where no kernel was the gate.
// `first` are of the first run, `last` of the last one (empty: there is only one), its last command's at least. With
// `period` the time begins at the end of the first run.
Span span_of(const std::vector<cl::Event>& first, const std::vector<cl::Event>& last, double wall_ms, bool period,
             cl_ulong gate_end = 0);
// Throws OpenCLError where a command failed; all must have completed.
void require_success(const std::vector<cl::Event>& events);
void add_sample(Samples& samples, const Span& span, double start_s, std::size_t counted, std::size_t runs);

}  // namespace gpuopt
