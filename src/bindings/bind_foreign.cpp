// Handles of OpenCL objects, as whole numbers, for other libraries of this process.
#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"

namespace gpuopt {
namespace py = pybind11;
namespace {

template <typename Handle>
std::uintptr_t number(Handle handle) {
    return reinterpret_cast<std::uintptr_t>(handle);
}

py::dict handles(const Device& device) {
    const auto session = [&] {
        const WithoutGil release;
        return session_of(device);
    }();
    py::dict found;
    found["context"] = number(session->context()());
    found["queue"] = number(session->queue()());
    return found;
}

// `memory` is a handle that the caller knows to be one: a driver reads what it points to. `owner` lives as long as the
// array: a buffer on memory of the host would outlive that.
DeviceArray adopted(const py::object& owner, std::uintptr_t memory, const std::vector<std::int64_t>& shape,
                    const py::dtype& dtype, const Device& device) {
    const auto type = dtype_of(dtype, "array");
    auto kept = keeper_of(owner);
    const WithoutGil release;
    auto buffer = Buffer::adopted(session_of(device), reinterpret_cast<cl_mem>(memory),
                                  DeviceArray::bytes_of(type, shape, "array"), "array", std::move(kept));
    return {std::move(buffer), type, shape};
}

}  // namespace

void bind_foreign(py::module_& module) {
    module.def("handles", &handles, py::arg("device"), "The context and the queue of plain calls on a device.");
    module.def(
        "shared_handle",
        [](const DeviceArray& array) {
            const WithoutGil release;
            return number(array.buffer->shared());
        },
        py::arg("array"), "The memory of an array, which nothing else gets from now on.");
    module.def("adopted", &adopted, py::arg("owner"), py::arg("memory"), py::arg("shape"), py::arg("dtype"),
               py::arg("device"), "An array in memory of another library, of the device's context. Raises ArrayError.");
}

}  // namespace gpuopt
