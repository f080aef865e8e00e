// Devices, discovery, what a device's session keeps.
#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/text.hpp"
#include "bindings/topics.hpp"
#include "runtime/discovery.hpp"
#include "runtime/host_memory.hpp"
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
    facts["loader_path"] = decoded(found.loader_path);
    facts["loader_version"] = decoded(found.loader_version);
    facts["user_setting"] =
        found.user_setting_name.empty()
            ? py::object(py::none())
            : py::object(py::make_tuple(found.user_setting_name, decoded(found.user_setting_value)));
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
        .def_property_readonly(
            "type", [](const Device& device) { return name_of(device.type); }, "gpu, accelerator, cpu or custom.")
        .def_readonly("compute_units", &Device::compute_units, "How many compute units it has.")
        .def_readonly("clock_mhz", &Device::clock_mhz, "Highest clock, in MHz; 0 where the driver does not know it.")
        .def_readonly("global_bytes", &Device::global_bytes, "Device memory in all.")
        .def_readonly("max_alloc_bytes", &Device::max_alloc_bytes, "Largest buffer.")
        .def_readonly("local_bytes", &Device::local_bytes, "Local memory of a work-group.")
        .def_readonly("constant_bytes", &Device::constant_bytes, "Largest constant buffer.")
        .def_readonly("max_work_group_size", &Device::max_work_group_size, "Most work-items in a work-group.")
        .def_readonly("vector_bytes", &Device::vector_bytes, "Width of its own vectors, in bytes.")
        .def_readonly("image_support", &Device::image_support, "Whether kernels may read images.")
        .def_property_readonly(
            "image2d_max",
            [](const Device& device) { return py::make_tuple(device.image2d_max[0], device.image2d_max[1]); },
            "Largest width and height of an image, in pixels.")
        .def_readonly("fp64", &Device::fp64, "Whether it computes in float64.")
        .def_readonly("fp16", &Device::fp16, "Whether it computes in float16.")
        .def_readonly("subgroups", &Device::subgroups, "Whether it has cl_khr_subgroups.")
        .def_readonly("unified_memory", &Device::unified_memory, "Whether it shares memory with the host.")
        .def_readonly("timer_ns", &Device::timer_ns, "Resolution of its timer, in ns.")
        .def_property_readonly(
            "extensions",
            [](const Device& device) {
                return std::vector<std::string>(device.extensions.begin(), device.extensions.end());
            },
            "Names of its OpenCL extensions, sorted.")
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
    session.plans().for_each([](void* plan) { static_cast<Prepared*>(plan)->poison(); });
    session.pool().fill(session.queue(), 0xFF);
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
    module.def("drop_kept_on_host", &drop_kept_on_host,
               "Gives the memory back that is kept for later calls of all devices whose memory is the host's.");
    module.def("set_search_prefixes", &set_search_prefixes, py::arg("prefixes"));
    module.def("devices", &devices, py::call_guard<WithoutGil>());
    module.def("discovery", &discovery_facts);
    module.def("cache_dir", [] { return as_path(cache_dir()); });
    module.def("cache_stamp", &cache_stamp, py::arg("file"), py::arg("now") = false);
    module.def(
        "folder_refusal", [](const std::string& name) { return as_path(PrivateFolder(name, false).refusal()); },
        py::arg("name"));
    module.def("make_private_folder", &make_private_folder, py::arg("name"));
    module.def(
        "sha256", [](const py::bytes& data) { return sha256_hex(static_cast<std::string_view>(data)); },
        py::arg("data"));
    module.def("host_free_bytes", &host_free_bytes, py::arg("root") = "/");
    module.def("kernel_paths", &kernel_paths);
    module.def(
        "kernel_source", [](const std::string& path) { return decoded(load_kernel(path).expanded); }, py::arg("path"));
    module.def("kernels_may_change", &kernels_may_change);
    module.def(
        "set_staging",
        [](const Device& device, bool on, std::size_t bytes, std::size_t slots, std::size_t threads, std::size_t block,
           double beside) {
            const WithoutGil release;
            session_of(device)->set_staging(on, {bytes, slots, threads, block, beside});
        },
        py::arg("device"), py::arg("on"), py::arg("slot_bytes") = StagingSizes().slot_bytes,
        py::arg("slots") = StagingSizes().slots, py::arg("threads") = StagingSizes().threads,
        py::arg("block") = StagingSizes().block_bytes, py::arg("beside") = StagingSizes().beside,
        "Whether copies are staged through slots of pinned memory; for tests.");
    module.def(
        "slots_filled", [](const Device& device) { return session_of(device)->slots_filled(); }, py::arg("device"),
        "Slots of pinned memory that copies of this device have filled.");
}

}  // namespace gpuopt
