#include <pybind11/stl.h>

#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "workloads/microbench/microbench.hpp"

namespace gpuopt {

void bind_microbench(py::module_& module) {
    module.def(
        "prepare_bandwidth",
        [](const DeviceArray& from, const DeviceArray& to, bool store, const std::string& variant,
           const Parameters& parameters) { return prepare_bandwidth(from, to, store, variant, parameters); },
        py::arg("from_"), py::arg("to"), py::arg("store"), py::arg("variant"), py::arg("parameters"),
        py::call_guard<py::gil_scoped_release>());
    module.def(
        "read_sums",
        [](const Device& device, std::int64_t elements, const py::dtype& dtype, const std::string& variant,
           const Parameters& parameters) {
            return read_sums(device, elements, dtype_of(dtype, "dtype"), variant, parameters);
        },
        py::arg("device"), py::arg("elements"), py::arg("dtype"), py::arg("variant"), py::arg("parameters"));
}

}  // namespace gpuopt
