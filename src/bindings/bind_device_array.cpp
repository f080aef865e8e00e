// Arrays in device memory, pinned arrays, fences beside host arrays.
#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"

namespace gpuopt {
namespace {

// A masked array is refused, whose mask would be ignored.
Operand unmasked_operand(const py::object& given, const std::string& name) {
    return operand(py::module_::import("gpuopt.checked").attr("unmasked")(name, given), name);
}

DeviceArray to_device(const py::object& array, const Device& device, bool guarded) {
    const auto source = operand(array, "a");
    if (source.is_device()) throw ArrayError("a", "it is a DeviceArray already", "give a NumPy array");
    const WithoutGil release;
    auto made =
        DeviceArray::empty(session_of(device), source.dtype, source.shape, "a", guarded ? Guard::zones : Guard::none);
    made.buffer->upload(source.host);
    return made;
}

DeviceArray empty(const std::vector<std::int64_t>& shape, const py::dtype& dtype, const Device& device, bool guarded) {
    for (const auto n : shape)
        if (n < 0) throw ArrayError("shape", shape_text(shape) + " is negative", "give lengths of at least 0");
    const auto type = dtype_of(dtype, "dtype");
    const WithoutGil release;
    return DeviceArray::empty(session_of(device), type, shape, "a DeviceArray", guarded ? Guard::zones : Guard::none);
}

py::array pinned_empty(const std::vector<std::int64_t>& shape, const py::dtype& dtype, const Device& device) {
    for (const auto n : shape)
        if (n < 0) throw ArrayError("shape", shape_text(shape) + " is negative", "give lengths of at least 0");
    return pinned_array(dtype_of(dtype, "dtype"), shape, session_of(device));
}

py::array to_numpy(const DeviceArray& array) {
    auto host = host_array(array.dtype, array.shape);
    void* target = host.mutable_data();
    const WithoutGil release;
    array.buffer->download(target);
    return host;
}

py::object as_numpy(const DeviceArray& array, const py::object& dtype, const py::object& copy) {
    if (!copy.is_none() && !PyBool_Check(copy.ptr()) &&
        !py::isinstance(copy, py::module_::import("numpy").attr("bool_")))
        throw ParameterError("copy", "it is no flag", "give True, or leave it out");
    if (!copy.is_none() && !copy.cast<bool>())
        throw ParameterError("copy", "a DeviceArray lies in a device's memory, so that a NumPy array of it is a copy",
                             "leave copy=False out");
    py::object host = to_numpy(array);
    return dtype.is_none() ? host : host.attr("astype")(dtype, py::arg("copy") = false);
}

// Products by gpuopt.gemm, whose errors name A and B. Matrices of other kinds have operators of their own.
py::object product(const py::object& a, const py::object& b) {
    for (const auto& one : {a, b})
        if (!py::isinstance<DeviceArray>(one) && !py::isinstance<py::array>(one))
            return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::module_::import("gpuopt").attr("gemm")(a, b);
}

// Operators that gpuopt.arrays has functions for, by their names there.
void def_operator(py::class_<DeviceArray>& arrays, const char* method, const char* function, const char* told) {
    arrays.def(
        method,
        [function](const py::object& self, const py::object& other) {
            return py::module_::import("gpuopt.arrays").attr(function)(self, other);
        },
        py::arg("other"), told);
}

void def_operators(py::class_<DeviceArray>& arrays) {
    def_operator(arrays, "__add__", "added", "self + other, of a number or an array of the same dtype and shape.");
    def_operator(arrays, "__radd__", "added", "other + self.");
    def_operator(arrays, "__sub__", "subtracted", "self - other.");
    def_operator(arrays, "__rsub__", "subtracted_from", "other - self.");
    def_operator(arrays, "__mul__", "multiplied", "self * other, element by element.");
    def_operator(arrays, "__rmul__", "multiplied", "other * self.");
    arrays.attr("__hash__") = py::module_::import("builtins").attr("object").attr("__hash__");  // lost beside __eq__
    def_operator(arrays, "__eq__", "equal", "Refused for numbers and arrays, which NumPy compares element by element.");
    def_operator(arrays, "__getitem__", "rows", "A copy of a row, or of rows that follow one another: a[3], a[2:5].");
    const auto of_one = [&](const char* method, const char* function, const char* told) {
        arrays.def(
            method,
            [function](const py::object& self) { return py::module_::import("gpuopt.arrays").attr(function)(self); },
            told);
    };
    of_one("__neg__", "negative", "-self.");
    of_one("__bool__", "truth", "Refused: ask for its length or its elements.");
    arrays.def_property_readonly(
        "T", [](const py::object& self) { return py::module_::import("gpuopt.arrays").attr("transposed")(self); },
        "The transpose of a matrix, for `@`: nothing is copied.");
    arrays.def(
        "__dlpack__",
        [](const py::object& self, const py::object& stream, const py::object& max_version, const py::object& dl_device,
           const py::object& copy) {
            return py::module_::import("gpuopt.arrays").attr("capsule")(self, stream, max_version, dl_device, copy);
        },
        py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
        py::arg("dl_device") = py::none(), py::arg("copy") = py::none(),
        "A copy on the host for other libraries: numpy.from_dlpack(a), torch.from_dlpack(a). Raises BufferError for "
        "another device and for copy=False, ParameterError for what the standard of array APIs has no meaning for.");
    arrays.def(
        "__dlpack_device__", [](const DeviceArray&) { return py::make_tuple(1, 0); },
        "(1, 0): the copy lies on the host.");
}

// A whole number from 0 to 255, of NumPy's too; a flag is none.
unsigned char byte_of(const py::object& given) {
    const bool flag = PyBool_Check(given.ptr());
    const auto whole = py::reinterpret_steal<py::object>(flag ? nullptr : PyNumber_Index(given.ptr()));
    const auto value = whole ? PyLong_AsLong(whole.ptr()) : -1;
    if (PyErr_Occurred()) {  // what is no whole number, or too large a one, is -1
        const py::error_already_set error;
        if (error.trace()) PyException_SetTraceback(error.value().ptr(), error.trace().ptr());  // CPython 3.12 does
        const auto of_signal = py::module_::import("gpuopt.signals").attr("of_signal");
        if (!error.matches(PyExc_Exception) || !of_signal(error.value()).is_none()) throw error;
    }
    if (value < 0 || value > 255) throw ParameterError("byte", "it is no byte", "give a whole number from 0 to 255");
    return static_cast<unsigned char>(value);
}

}  // namespace

void bind_device_array(py::module_& module) {
    py::class_<DeviceArray> arrays(
        module, "DeviceArray",
        R"(A C-contiguous array in device memory; operations return the kind of array they were given.

Examples
--------
>>> d = gpuopt.to_device(np.array([[1, 2], [3, 4]], np.float32))
>>> (2 * d + d).to_numpy()
array([[ 3.,  6.],
       [ 9., 12.]], dtype=float32)
)");
    arrays.attr("__array_ufunc__") = py::none();  // NumPy's functions would copy it to the host
    arrays
        .def_property_readonly(
            "shape", [](const DeviceArray& array) { return py::tuple(py::cast(array.shape)); }, "Lengths of its axes.")
        .def_property_readonly(
            "ndim", [](const DeviceArray& array) { return array.shape.size(); }, "How many axes it has.")
        .def_property_readonly(
            "dtype", [](const DeviceArray& array) { return numpy_dtype(array.dtype); }, "NumPy's type of its elements.")
        .def_property_readonly(
            "nbytes", [](const DeviceArray& array) { return array.buffer->bytes(); }, "Bytes of its elements.")
        .def_property_readonly(
            "device",
            [](const DeviceArray& array) {
                return std::const_pointer_cast<Device>(array.buffer->session()->shared_device());
            },
            "The device whose memory it lies in.")
        .def("to_numpy", &to_numpy, "A new NumPy array with the same shape, dtype and values.")
        .def("__array__", &as_numpy, py::arg("dtype") = py::none(), py::arg("copy") = py::none(),
             "A copy for NumPy: numpy.asarray(a) is a.to_numpy().")
        .def("__matmul__", &product, py::arg("other"), "gpuopt.gemm(self, other).")
        .def(
            "__rmatmul__", [](const py::object& b, const py::object& a) { return product(a, b); }, py::arg("other"),
            "gpuopt.gemm(other, self).")
        .def(
            "fill_bytes",
            [](DeviceArray& array, const py::object& byte) {
                const auto value = byte_of(byte);
                const WithoutGil release;
                array.buffer->fill(value);
            },
            py::arg("byte"), "Sets every byte, e.g. 255 to poison floats with NaN.")
        .def(
            "fill_repeated",
            [](DeviceArray& array, const py::object& pattern) {
                const auto source = unmasked_operand(pattern, "pattern");
                const auto bytes = DeviceArray::bytes_of(source.dtype, source.shape, "pattern");
                if (source.is_device() || !source.strides.empty() || bytes == 0)
                    throw ArrayError("pattern", "it is no contiguous NumPy array with elements",
                                     "give one, such as the first row");
                const WithoutGil release;
                array.buffer->fill(source.host, bytes);
            },
            py::arg("pattern"), "The bytes of a NumPy array, again and again until this one is full.")
        .def(
            "copy_from",
            [](DeviceArray& array, const py::object& values) {
                const auto source = unmasked_operand(values, "values");
                const auto told = "a NumPy array of dtype " + std::string(facts(array.dtype).numpy_name) +
                                  " and shape " + shape_text(array.shape);
                if (source.is_device()) throw ArrayError("values", "it is a DeviceArray", "give " + told);
                if (source.dtype != array.dtype)
                    throw ArrayError("values", std::string("its dtype is ") + facts(source.dtype).numpy_name,
                                     "give " + told);
                if (source.shape != array.shape)
                    throw ArrayError("values", "its shape is " + shape_text(source.shape), "give " + told);
                const WithoutGil release;
                array.buffer->upload(source.host);
            },
            py::arg("values"), "Takes over the values of a NumPy array of the same dtype and shape.")
        .def(
            "guards_intact", [](const DeviceArray& array) { return array.buffer->guards_intact(); },
            py::call_guard<WithoutGil>(), "False when something wrote next to a guarded array.")
        .def(
            "shares_memory",
            [](const DeviceArray& array, const py::object& other) {
                if (!py::isinstance<DeviceArray>(other))
                    throw ArrayError("other", "it is no DeviceArray", "give one, e.g. gpuopt.to_device(other)");
                return array.buffer->meets(*other.cast<const DeviceArray&>().buffer);
            },
            py::arg("other"), "Whether both are the same memory.")
        .def("__len__",
             [](const DeviceArray& array) {
                 if (array.shape.empty()) throw py::type_error("len() of an array without dimensions");
                 return array.shape[0];
             })
        .def("__repr__", [](const DeviceArray& array) {
            return "<gpuopt.DeviceArray " + shape_text(array.shape) + " " + facts(array.dtype).numpy_name + " on " +
                   array.buffer->session()->device().name + ">";
        });
    def_operators(arrays);
    module.def("to_device", &to_device, py::arg("a"), py::arg("device"), py::arg("guarded") = false);
    module.def("empty", &empty, py::arg("shape"), py::arg("dtype"), py::arg("device"), py::arg("guarded") = false);

    module.def(
        "host_empty",
        [](const std::vector<std::int64_t>& shape, const py::dtype& dtype) {
            return host_array(dtype_of(dtype, "dtype"), shape);
        },
        py::arg("shape"), py::arg("dtype"));
    module.def("pinned_empty", &pinned_empty, py::arg("shape"), py::arg("dtype"), py::arg("device"));
    py::class_<Fences, std::shared_ptr<Fences>>(module, "Fences", "Protected pages beside what is made within it.")
        .def(py::init<>())
        .def("__enter__",
             [](const std::shared_ptr<Fences>& fences) {
                 Fences::open(fences);
                 return fences;
             })
        .def("__exit__", [](Fences&, const py::args&) { Fences::close(); })
        .def("intact", &Fences::intact, "False when something read or wrote beside what was made within.");
}

}  // namespace gpuopt
