// One function a topic; each workload's own bind.cpp is a topic too.
#pragma once

#include <pybind11/pybind11.h>

namespace gpuopt {

void bind_errors(pybind11::module_& module);
void bind_device(pybind11::module_& module);
void bind_result(pybind11::module_& module);
void bind_tables(pybind11::module_& module);
void bind_spmv(pybind11::module_& module);
void bind_gem(pybind11::module_& module);
void bind_gemm(pybind11::module_& module);
void bind_tmv(pybind11::module_& module);
void bind_tomography(pybind11::module_& module);
void bind_projector(pybind11::module_& module);
void bind_microbench(pybind11::module_& module);

}  // namespace gpuopt
