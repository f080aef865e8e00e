// Arithmetic on arrays of a device: what DeviceArray's operators, and gpuopt.axpy, dot and norm call.
#include <pybind11/stl.h>

#include <map>
#include <mutex>
#include <utility>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "runtime/arithmetic.hpp"
#include "runtime/fork.hpp"

namespace gpuopt {
namespace {

namespace py = pybind11;
using released = py::call_guard<WithoutGil>;

// Sessions live as long as the process, and so does what is made for them here.
const DeviceArithmetic& arithmetic_of(const DeviceArray& array) {
    using Key = std::pair<const Session*, DType>;
    static auto* const mutex = new ForkSafeMutex;
    static auto* const made = new std::map<Key, std::unique_ptr<DeviceArithmetic>>;
    const auto& session = array.buffer->session();
    const Key key{session.get(), array.dtype};
    {
        const std::lock_guard<ForkSafeMutex> lock(*mutex);
        if (const auto found = made->find(key); found != made->end()) return *found->second;
    }
    auto another = std::make_unique<DeviceArithmetic>(session, array.dtype);  // a build takes its time
    const std::lock_guard<ForkSafeMutex> lock(*mutex);
    return *made->try_emplace(key, std::move(another)).first->second;
}

const Buffer& floating(const DeviceArray& array, const char* name) {
    if (array.dtype != DType::f32 && array.dtype != DType::f64)
        throw ArrayError(name, std::string("its dtype is ") + facts(array.dtype).numpy_name, "use float32 or float64");
    return *array.buffer;
}

// An array of the same device, dtype and shape as x.
const Buffer& like(const DeviceArray& x, const DeviceArray& array, const char* name) {
    if (array.buffer->session() != x.buffer->session())
        throw ArrayError(
            name,
            "it lies on " + array.buffer->session()->device().name + ", x on " + x.buffer->session()->device().name,
            "bring both to one device");
    if (array.dtype != x.dtype)
        throw ArrayError(
            name,
            std::string("its dtype is ") + facts(array.dtype).numpy_name + ", that of x " + facts(x.dtype).numpy_name,
            "use arrays of one dtype");
    if (array.shape != x.shape)
        throw ArrayError(name, "its shape is " + shape_text(array.shape) + ", that of x " + shape_text(x.shape),
                         "use arrays of one shape");
    return *array.buffer;
}

DeviceArray result_for(const DeviceArray& x, const std::optional<DeviceArray>& out) {
    if (!out) return DeviceArray::empty(x.buffer->session(), x.dtype, x.shape, "the result");
    like(x, *out, "out");
    return *out;
}

DeviceArray combine(double a, const DeviceArray& x, double b, const DeviceArray& y,
                    const std::optional<DeviceArray>& out) {
    const auto &of_x = floating(x, "x"), &of_y = like(x, y, "y");
    auto result = result_for(x, out);
    for (const auto& [name, operand] : {std::pair("x", &of_x), std::pair("y", &of_y)})
        if (result.buffer->is_shifted(*operand))
            throw ArrayError("out", std::string("it shares a part of its memory with ") + name,
                             "give x or y itself, or another array");
    if (of_x.bytes() > 0) arithmetic_of(x).combine(a, of_x, b, of_y, *result.buffer);
    return result;
}

DeviceArray shift(double a, const DeviceArray& x, double b) {
    const auto& of_x = floating(x, "x");
    auto result = result_for(x, std::nullopt);
    if (of_x.bytes() > 0) arithmetic_of(x).shift(a, of_x, b, *result.buffer);
    return result;
}

DeviceArray multiply(const DeviceArray& x, const DeviceArray& y) {
    const auto &of_x = floating(x, "x"), &of_y = like(x, y, "y");
    auto result = result_for(x, std::nullopt);
    if (of_x.bytes() > 0) arithmetic_of(x).product(of_x, of_y, *result.buffer);
    return result;
}

double dot(const DeviceArray& x, const DeviceArray& y) {
    const auto &of_x = floating(x, "x"), &of_y = like(x, y, "y");
    return of_x.bytes() > 0 ? arithmetic_of(x).dot(of_x, of_y) : 0;
}

// A copy of `count` elements along the first axis, or of one without that axis.
DeviceArray rows(const DeviceArray& array, std::int64_t first, std::int64_t count, bool keeps_axis) {
    std::vector<std::int64_t> shape(array.shape.begin() + 1, array.shape.end());
    if (keeps_axis) shape.insert(shape.begin(), count);
    auto found = DeviceArray::empty(array.buffer->session(), array.dtype, shape, "rows of an array");
    const auto bytes = array.shape[0] > 0 ? array.buffer->bytes() / static_cast<std::size_t>(array.shape[0]) : 0;
    if (found.buffer->bytes() > 0)
        copy_bytes(*array.buffer, static_cast<std::size_t>(first) * bytes, found.buffer->bytes(), *found.buffer, 0);
    return found;
}

}  // namespace

void bind_arithmetic(py::module_& module) {
    module.def("combine", &combine, py::arg("a"), py::arg("x"), py::arg("b"), py::arg("y"), py::arg("out"), released(),
               "a x + b y.");
    module.def("shift", &shift, py::arg("a"), py::arg("x"), py::arg("b"), released(), "a x + b.");
    module.def("multiply", &multiply, py::arg("x"), py::arg("y"), released(), "x y, element by element.");
    module.def("dot", &dot, py::arg("x"), py::arg("y"), released(), "The sum of x y.");
    module.def("rows", &rows, py::arg("array"), py::arg("first"), py::arg("count"), py::arg("keeps_axis"), released(),
               "A copy of elements along the first axis.");
}

}  // namespace gpuopt
