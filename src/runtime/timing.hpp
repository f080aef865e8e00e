// Raw samples of runs, from device events and from the host's clock. C++ takes samples; Python does the statistics.
#pragma once

#include <vector>

#include "runtime/opencl.hpp"

namespace gpuopt {

struct Samples {
    std::vector<double> device_ms;  // first START to last END of the plan; in a batch, divided by its runs
    std::vector<double> busy_ms;    // sum of END - START over the plan's kernels; in a batch, divided by its runs
    std::vector<double> queued_ms;  // QUEUED of the first command to its START
    std::vector<double> wall_ms;    // enqueue to completion, host clock; in a batch, divided by its runs
};

// All commands must have completed; an event whose command failed throws OpenCLError.
void add_sample(Samples& samples, const std::vector<cl::Event>& events, std::size_t runs, double wall_ms);

}  // namespace gpuopt
