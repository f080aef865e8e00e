// One function a topic. A workload is a topic too: its bind.cpp defines bind_<name>.
#pragma once

#include <pybind11/pybind11.h>

namespace gpuopt {

void bind_errors(pybind11::module_& module);
void bind_device(pybind11::module_& module);
void bind_device_array(pybind11::module_& module);
void bind_arithmetic(pybind11::module_& module);
void bind_foreign(pybind11::module_& module);
void bind_interrupts(pybind11::module_& module);
void bind_result(pybind11::module_& module);
void bind_tables(pybind11::module_& module);
void bind_own_plan(pybind11::module_& module);
void bind_recording(pybind11::module_& module);
void bind_handles(pybind11::module_& module);  // after all classes

#define WORKLOAD(name) void bind_##name(pybind11::module_& module);
#include "workloads/registry.def"

}  // namespace gpuopt
