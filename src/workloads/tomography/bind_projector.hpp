// The half of tomography's bindings that is about projectors along rays.
#pragma once

#include <pybind11/pybind11.h>

namespace gpuopt {

void bind_projector(pybind11::module_& module);

}  // namespace gpuopt
