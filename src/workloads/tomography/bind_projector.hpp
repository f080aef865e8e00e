// The parts of tomography's bindings that are about projectors along rays, and about the filter.
#pragma once

#include <pybind11/pybind11.h>

namespace gpuopt {

void bind_projector(pybind11::module_& module);
void bind_filter(pybind11::module_& module);

}  // namespace gpuopt
