#include <pybind11/stl.h>

#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "workloads/microbench/microbench.hpp"

namespace gpuopt {

void bind_microbench(py::module_& module) {
    module.def(
        "prepare_microbench",
        [](const DeviceArray& from, const DeviceArray& to, std::int64_t width, std::int64_t trips, bool store,
           const std::string& variant, const Parameters& parameters) {
            return prepare_microbench(from, to, {width, trips}, store, variant, parameters);
        },
        py::arg("from_"), py::arg("to"), py::arg("width"), py::arg("trips"), py::arg("store"), py::arg("variant"),
        py::arg("parameters"), py::call_guard<py::gil_scoped_release>());
    module.def(
        "microbench_outputs",
        [](const Device& device, const py::dtype& dtype, std::int64_t elements, std::int64_t width, std::int64_t trips,
           const std::string& variant, const Parameters& parameters) {
            return microbench_outputs(device, dtype_of(dtype, "dtype"), elements, {width, trips}, variant, parameters);
        },
        py::arg("device"), py::arg("dtype"), py::arg("elements"), py::arg("width"), py::arg("trips"),
        py::arg("variant"), py::arg("parameters"));
}

}  // namespace gpuopt
