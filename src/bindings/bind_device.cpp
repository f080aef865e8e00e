// Devices, discovery, device arrays.
#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/text.hpp"
#include "bindings/topics.hpp"
#include "runtime/discovery.hpp"
#include "runtime/private_folder.hpp"
#include "runtime/sha256.hpp"
#include "runtime/trace.hpp"
#include "workloads/prepared.hpp"

namespace gpuopt {
namespace {

using DevicePointer = std::shared_ptr<Device>;

DevicePointer shared(const std::shared_ptr<const Device>& device) { return std::const_pointer_cast<Device>(device); }

std::vector<DevicePointer> devices() {
    std::vector<DevicePointer> list;
    for (const auto& device : discover().devices) list.push_back(shared(device));
    return list;
}

py::str make_private_folder(const std::string& name) {
    const PrivateFolder folder(name, true);
    if (!folder.usable()) throw Error(folder.refusal() + "; set GPUOPT_CACHE_DIR to a folder of your own");
    return as_path(folder.path());
}

py::dict discovery_facts() {
    const auto& found = []() -> const Discovery& {
        const WithoutGil release;
        return discover();
    }();
    py::dict facts;
    facts["loader_path"] = found.loader_path;
    facts["loader_version"] = found.loader_version;
    facts["user_setting"] = found.user_setting_name.empty()
                                ? py::object(py::none())
                                : py::object(py::make_tuple(found.user_setting_name, found.user_setting_value));
    const auto text_or_none = [](const std::string& text) -> py::object {
        if (text.empty()) return py::none();
        return decoded(text);
    };
    facts["prefix_dir_used"] = found.prefix_dir_used;
    facts["prefix_dir_error"] = text_or_none(found.prefix_dir_error);
    facts["error"] = text_or_none(found.error);
    py::list files, platforms;
    for (const auto& file : found.vendor_files) {
        py::dict entry;
        entry["path"] = decoded(file.path);
        entry["library"] = decoded(file.library);
        entry["status"] = file.status;
        entry["prefix"] = decoded(file.prefix);
        files.append(entry);
    }
    for (const auto& platform : found.platforms) {
        py::dict entry;
        entry["name"] = decoded(platform.name);
        entry["vendor"] = decoded(platform.vendor);
        entry["version"] = decoded(platform.version);
        py::list used, left_out;
        for (const auto& name : platform.devices) used.append(decoded(name));
        for (const auto& device : platform.left_out)
            left_out.append(py::make_tuple(decoded(device.name), decoded(device.reason)));
        entry["devices"] = used;
        entry["left_out"] = left_out;
        entry["error"] = text_or_none(platform.error);
        platforms.append(entry);
    }
    facts["vendor_files"] = files;
    facts["platforms"] = platforms;
    return facts;
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
        throw py::value_error(
            "copy: a DeviceArray lies in a device's memory, so that a NumPy array of it is a copy; "
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
    def_operator(arrays, "__getitem__", "rows", "A copy of a row, or of rows that follow one another: a[3], a[2:5].");
    const auto of_one = [&](const char* method, const char* function, const char* told) {
        arrays.def(
            method,
            [function](const py::object& self) { return py::module_::import("gpuopt.arrays").attr(function)(self); },
            told);
    };
    of_one("__neg__", "negative", "-self.");
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

void bind_device_class(py::module_& module) {
    py::class_<Device, DevicePointer>(module, "Device", R"(An OpenCL device and what it says of itself; sizes in bytes.

gpuopt.devices() lists all; none is made otherwise.

Examples
--------
>>> device = gpuopt.devices()[0]
>>> device.index, device.local_bytes > 0, device.name in device.key
(0, True, True)
)")
        .def_readonly("index", &Device::index, "Place in devices(), best device first.")
        .def_readonly("key", &Device::key, "Stable identity: \"platform / name\", with #n for a twin.")
        .def_readonly("name", &Device::name, "The device's name.")
        .def_readonly("platform", &Device::platform, "Name of the OpenCL platform.")
        .def_readonly("vendor", &Device::vendor, "Who made it.")
        .def_readonly("version", &Device::version, "Version of OpenCL that it speaks.")
        .def_readonly("driver", &Device::driver, "Version of its driver.")
        .def_readonly("architecture", &Device::architecture, "What code is compiled for; empty where not told.")
        .def_readonly("uuid", &Device::uuid, "32 hex digits that no other device has; empty where not told.")
        .def_readonly("pci", &Device::pci, "Its address on the host's bus; empty where not told.")
        .def_property_readonly("type", [](const Device& device) { return name_of(device.type); })
        .def_readonly("compute_units", &Device::compute_units, "How many compute units it has.")
        .def_readonly("clock_mhz", &Device::clock_mhz, "Highest clock; 0 where the driver does not know it.")
        .def_readonly("global_bytes", &Device::global_bytes, "Device memory in all.")
        .def_readonly("max_alloc_bytes", &Device::max_alloc_bytes, "Largest buffer.")
        .def_readonly("local_bytes", &Device::local_bytes, "Local memory of a work-group.")
        .def_readonly("constant_bytes", &Device::constant_bytes, "Largest constant buffer.")
        .def_readonly("max_work_group_size", &Device::max_work_group_size, "Most work-items in a work-group.")
        .def_readonly("vector_bytes", &Device::vector_bytes, "Width of its own vectors.")
        .def_readonly("image_support", &Device::image_support, "Whether kernels may read images.")
        .def_property_readonly(
            "image2d_max",
            [](const Device& device) { return py::make_tuple(device.image2d_max[0], device.image2d_max[1]); })
        .def_readonly("fp64", &Device::fp64, "Whether it computes in float64.")
        .def_readonly("fp16", &Device::fp16, "Whether it computes in float16.")
        .def_readonly("subgroups", &Device::subgroups, "Whether it has cl_khr_subgroups.")
        .def_readonly("unified_memory", &Device::unified_memory, "Whether it shares memory with the host.")
        .def_readonly("timer_ns", &Device::timer_ns, "Resolution of its timer.")
        .def_property_readonly("extensions",
                               [](const Device& device) {
                                   return std::vector<std::string>(device.extensions.begin(), device.extensions.end());
                               })
        .def_property_readonly(
            "allocated_bytes", [](const Device& device) { return session_of(device)->allocated_bytes(); },
            "Bytes of device memory held by this process through gpuopt.")
        .def("__repr__", [](const Device& device) {
            return "<gpuopt.Device " + std::to_string(device.index) + ": " + device.key + ">";
        });
}

// How often a session made something anew and how often it used what it had, and what it keeps.
py::dict kept_counts(const Device& device) {
    auto& session = *session_of(device);
    const auto& counts = session.counts;
    py::dict found;
    found["plans_made"] = counts.plans_made.load();
    found["plans_reused"] = counts.plans_reused.load();
    found["buffers_made"] = counts.buffers_made.load();
    found["buffers_reused"] = counts.buffers_reused.load();
    found["kernels_made"] = counts.kernels_made.load();
    found["programs_built"] = counts.programs_built.load();
    found["fills"] = counts.fills.load();
    found["pool_bytes"] = session.pool().bytes();
    found["plans"] = session.plans().count();
    found["plan_bytes"] = session.plans().bytes();
    return found;
}

// (name, begin and end in ns of the steady clock, thread) of what was noted since tracing began.
py::list trace_spans() {
    py::list list;
    for (const auto& span : Traced::spans())
        list.append(py::make_tuple(span.name, span.begin_ns, span.end_ns, span.thread));
    return list;
}

void poison_kept(const Device& device) {
    auto& session = *session_of(device);
    const auto lock = session.lock_runs();
    session.plans().for_each([](void* plan) { static_cast<Prepared*>(plan)->fill_scratch(0xFF); });
    session.pool().fill(session.queue(), 0xFF);
}

// A whole number from 0 to 255, of NumPy's too; a flag is none.
unsigned char byte_of(const py::object& given) {
    const bool flag = PyBool_Check(given.ptr());
    const auto whole = py::reinterpret_steal<py::object>(flag ? nullptr : PyNumber_Index(given.ptr()));
    const auto value = whole ? PyLong_AsLong(whole.ptr()) : -1;
    PyErr_Clear();  // of what is no whole number, or too large a one, which is -1, too
    if (value < 0 || value > 255) throw ParameterError("byte", "it is no byte", "give a whole number from 0 to 255");
    return static_cast<unsigned char>(value);
}

}  // namespace

void bind_device(py::module_& module) {
    bind_device_class(module);
    module.def("kept_counts", &kept_counts, py::arg("device"),
               "What the device's session made, used again and keeps for later calls.");
    module.def("set_tracing", &Traced::set, py::arg("on"));
    module.def("trace_spans", &trace_spans);
    module.def("poison_kept", &poison_kept, py::arg("device"), py::call_guard<WithoutGil>(),
               "Sets every byte of the memory that is kept for later calls to 255: floats become NaN.");
    module.def(
        "drop_kept", [](const Device& device) { session_of(device)->drop_kept(); }, py::arg("device"),
        py::call_guard<WithoutGil>(), "Gives the memory and the plans back that are kept for later calls.");
    module.def("set_search_prefixes", &set_search_prefixes, py::arg("prefixes"));
    module.def("devices", &devices, py::call_guard<WithoutGil>());
    module.def("discovery", &discovery_facts);
    module.def("cache_dir", [] { return as_path(cache_dir()); });
    module.def(
        "folder_refusal", [](const std::string& name) { return as_path(PrivateFolder(name, false).refusal()); },
        py::arg("name"));
    module.def("make_private_folder", &make_private_folder, py::arg("name"));
    module.def(
        "sha256", [](const py::bytes& data) { return sha256_hex(static_cast<std::string_view>(data)); },
        py::arg("data"));
    module.def("kernel_paths", &kernel_paths);
    module.def(
        "kernel_source", [](const std::string& path) { return decoded(load_kernel(path).expanded); }, py::arg("path"));

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
    arrays.def_property_readonly("shape", [](const DeviceArray& array) { return py::tuple(py::cast(array.shape)); })
        .def_property_readonly("ndim", [](const DeviceArray& array) { return array.shape.size(); })
        .def_property_readonly("dtype", [](const DeviceArray& array) { return numpy_dtype(array.dtype); })
        .def_property_readonly("nbytes", [](const DeviceArray& array) { return array.buffer->bytes(); })
        .def_property_readonly(
            "device", [](const DeviceArray& array) { return shared(array.buffer->session()->shared_device()); })
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
            "copy_from",
            [](DeviceArray& array, const py::object& values) {
                const auto source =
                    operand(py::module_::import("gpuopt.checked").attr("unmasked")("values", values), "values");
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

    module.def("pinned_empty", &pinned_empty, py::arg("shape"), py::arg("dtype"), py::arg("device"));
    module.def(
        "set_staging",
        [](const Device& device, bool on, std::size_t bytes, std::size_t slots, std::size_t threads, double beside) {
            const WithoutGil release;
            session_of(device)->set_staging(on, {bytes, slots, threads, beside});
        },
        py::arg("device"), py::arg("on"), py::arg("slot_bytes") = StagingSizes().slot_bytes,
        py::arg("slots") = StagingSizes().slots, py::arg("threads") = StagingSizes().threads, py::arg("beside") = 3e3,
        "Whether copies are staged through slots of pinned memory; for tests.");
    module.def(
        "slots_filled",
        [](const Device& device) {
            const auto* const ring = session_of(device)->staging_ring();
            return ring ? ring->slots_filled() : 0;
        },
        py::arg("device"), "Slots of pinned memory that copies of this device have filled.");

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
