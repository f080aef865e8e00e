#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/plans.hpp"
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
        py::arg("from_"), py::arg("to"), py::kw_only(), py::arg("width"), py::arg("trips"), py::arg("store"),
        py::arg("variant"), py::arg("parameters"), py::call_guard<WithoutGil>());
    module.def(
        "microbench_facts",
        [](const Device& device, const py::dtype& dtype, std::int64_t elements, std::int64_t width, std::int64_t trips,
           const std::string& variant, const Parameters& parameters) {
            const auto facts =
                microbench_facts(device, dtype_of(dtype, "dtype"), elements, {width, trips}, variant, parameters);
            py::dict result = as_dict(facts.work);
            result["outputs"] = facts.outputs;
            return result;
        },
        py::arg("device"), py::arg("dtype"), py::kw_only(), py::arg("elements"), py::arg("width"), py::arg("trips"),
        py::arg("variant"), py::arg("parameters"));
    module.def(
        "prepare_transfer",
        [](const DeviceArray& array, bool upload, bool pinned) {
            auto transfer = [&] {
                const WithoutGil release;
                return prepare_transfer(array, upload, pinned);
            }();
            auto* const owner = new std::shared_ptr<void>(transfer.memory);
            const py::capsule kept(owner, [](void* held) { delete static_cast<std::shared_ptr<void>*>(held); });
            const std::vector<py::ssize_t> shape(array.shape.begin(), array.shape.end());
            const py::array memory(numpy_dtype(array.dtype), shape, transfer.memory.get(), kept);
            return py::make_tuple(transfer.plan, memory);
        },
        py::arg("array"), py::arg("upload"), py::arg("pinned"));
}

}  // namespace gpuopt
