// What Python sees of a plan's declared work.
#pragma once

#include <pybind11/pybind11.h>

#include "workloads/workload.hpp"

namespace gpuopt {

pybind11::dict as_dict(const Work& work);

}  // namespace gpuopt
