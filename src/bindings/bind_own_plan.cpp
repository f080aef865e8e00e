// Programs and plans of a caller's own kernels.
#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/program_code.hpp"
#include "bindings/text.hpp"
#include "bindings/topics.hpp"
#include "runtime/image.hpp"
#include "runtime/sha256.hpp"
#include "workloads/own_plan.hpp"

namespace gpuopt {
namespace py = pybind11;
namespace {

// A built program and the session that it is of.
struct OwnProgram {
    std::shared_ptr<Session> session;
    std::shared_ptr<const Program> program;
};

// Float pixels, and the size that they were made for.
struct OwnImage {
    std::shared_ptr<Image2D> image;
    std::shared_ptr<Session> session;
};

struct OwnSampler {
    std::shared_ptr<const cl::Sampler> sampler;
    std::shared_ptr<Session> session;
};

OwnProgram build_program(const Device& device, const std::string& source, const std::string& name,
                         const std::string& options) {
    OwnProgram made{session_of(device), nullptr};
    const WithoutGil release;
    made.program = made.session->build(KernelSource{name, source, sha256_hex(source)}, options);
    return made;
}

py::object arguments(const OwnProgram& own, const std::string& entry_point) {
    const auto found = arguments_of(*own.program, entry_point);
    if (!found) return py::none();
    py::list list;
    for (const auto& each : *found) {
        py::dict entry;
        entry["name"] = decoded(each.name);
        entry["type"] = decoded(each.type);
        entry["address"] = each.address;
        entry["const"] = each.is_const;
        entry["image"] = each.is_image;
        list.append(entry);
    }
    return list;
}

OwnImage make_image(const DeviceArray& pixels, int channels) {
    const auto wanted = channels == 1 ? 2u : 3u;
    if (pixels.dtype != DType::f32 || pixels.shape.size() != wanted || (channels != 1 && pixels.shape.back() != 4))
        throw ArrayError("pixels", "its shape is " + shape_text(pixels.shape),
                         "give float32 of shape (height, width) for one channel, (height, width, 4) for four");
    const auto& session = pixels.buffer->session();
    const WithoutGil release;
    const auto image = std::make_shared<Image2D>(session, std::size_t(pixels.shape[1]), std::size_t(pixels.shape[0]),
                                                 "an image", channels);
    image->fill_from(*pixels.buffer);
    return {image, session};
}

OwnSampler make_sampler(const Device& device, bool normalized, const std::string& address, const std::string& filter) {
    static const std::map<std::string, cl_addressing_mode> modes = {{"none", CL_ADDRESS_NONE},
                                                                    {"edge", CL_ADDRESS_CLAMP_TO_EDGE},
                                                                    {"border", CL_ADDRESS_CLAMP},
                                                                    {"repeat", CL_ADDRESS_REPEAT},
                                                                    {"mirror", CL_ADDRESS_MIRRORED_REPEAT}};
    const auto found = modes.find(address);
    if (found == modes.end() || (filter != "nearest" && filter != "linear"))
        throw ParameterError("sampler", "there is none of " + address + " and " + filter,
                             "use none, edge, border, repeat or mirror, and nearest or linear");
    const auto session = session_of(device);
    const auto kind = filter == "linear" ? CL_FILTER_LINEAR : CL_FILTER_NEAREST;
    return {std::make_shared<const cl::Sampler>(checked(
                [&] { return cl::Sampler(session->context(), normalized ? CL_TRUE : CL_FALSE, found->second, kind); })),
            session};
}

std::array<std::size_t, 3> sizes(const py::handle& given, int& dimensions) {
    const auto list = given.cast<std::vector<std::size_t>>();
    if (list.empty() || list.size() > 3) throw ParameterError("launch", "it has no 1 to 3 dimensions", "give up to 3");
    dimensions = static_cast<int>(list.size());
    std::array<std::size_t, 3> all{1, 1, 1};
    std::copy(list.begin(), list.end(), all.begin());
    return all;
}

OwnArgument argument(const py::handle& given, const std::shared_ptr<Session>& session) {
    OwnArgument made;
    const auto require = [&](const std::shared_ptr<Session>& of) {
        if (of != session) throw ArrayError("arguments", "memory of another device is among them", "make it here");
    };
    if (py::isinstance<DeviceArray>(given)) {
        const auto& array = given.cast<const DeviceArray&>();
        require(array.buffer->session());
        made.memory = array.buffer;
    } else if (py::isinstance<OwnImage>(given)) {
        const auto& image = given.cast<const OwnImage&>();
        require(image.session);
        made.memory = image.image;
    } else if (py::isinstance<OwnSampler>(given)) {
        const auto& own = given.cast<const OwnSampler&>();
        require(own.session);
        made.sampler = own.sampler;
    } else if (py::isinstance<py::bytes>(given)) {
        const auto text = given.cast<std::string>();
        if (text.empty()) throw ParameterError("arguments", "a value of no bytes is among them", "give its bytes");
        made.value.assign(text.begin(), text.end());
    } else {
        made.local_bytes = given.cast<std::size_t>();
        if (made.local_bytes == 0)
            throw ParameterError("arguments", "local memory of 0 bytes is among them", "give at least 1");
    }
    return made;
}

// ("clear", array) and ("until", array, past): what the host does with a flag.
OwnStep flag_step(const py::tuple& parts, const std::shared_ptr<Session>& session) {
    OwnStep made;
    const auto& array = parts[1].cast<const DeviceArray&>();
    if (array.buffer->session() != session) throw ArrayError("flag", "it is of another device", "make it here");
    made.does = parts.size() == 2 ? OwnStep::Does::clears : OwnStep::Does::asks;
    made.flag = array.buffer;
    made.flag_bytes = facts(array.dtype).bytes;
    if (parts.size() > 2) made.past = parts[2].cast<std::size_t>();
    return made;
}

OwnStep step(const py::handle& given, const std::shared_ptr<Session>& session) {
    const auto parts = given.cast<py::tuple>();
    if (parts.size() < 4) return flag_step(parts, session);
    OwnStep made;
    const auto& own = parts[0].cast<const OwnProgram&>();
    if (own.session != session) throw ParameterError("steps", "a program of another device is among them", "build it");
    made.program = own.program;
    made.entry_point = parts[1].cast<std::string>();
    int of_local = 0;
    made.launch.global = sizes(parts[2], made.launch.dimensions);
    made.launch.local = sizes(parts[3], of_local);
    if (of_local != made.launch.dimensions)
        throw ParameterError("launch", "global and local sizes have other dimensions", "give as many of each");
    for (std::size_t i = 0; i < 3; ++i)
        if (made.launch.local[i] == 0 || made.launch.global[i] % made.launch.local[i] != 0)
            throw ParameterError("launch", "a local size is 0 or divides its global size not", "round items up");
    for (const auto& each : parts[4]) made.arguments.push_back(argument(each, session));
    return made;
}

std::shared_ptr<Prepared> prepare(const Device& device, const py::list& steps, std::size_t main_step, double flops,
                                  const std::map<std::string, double>& bytes) {
    const auto session = session_of(device);
    std::vector<OwnStep> all;
    for (const auto& each : steps) all.push_back(step(each, session));
    const WithoutGil release;
    return prepare_own(session, all, main_step, Work{flops, {}, bytes});
}

}  // namespace

void bind_own_plan(py::module_& module) {
    py::class_<OwnProgram>(module, "Program", "A built program of a caller's own kernels.")
        .def_property_readonly("kernels", [](const OwnProgram& own) { return entry_points(*own.program); })
        .def_property_readonly("log", [](const OwnProgram& own) { return decoded(own.program->log); })
        .def_property_readonly("build_ms", [](const OwnProgram& own) { return own.program->build_ms; })
        .def_property_readonly("binary_sha256", [](const OwnProgram& own) { return own.program->binary_sha256; })
        .def(
            "code", [](const OwnProgram& own) { return code_of(*own.program); },
            "What it was built from and what the driver made of it.")
        .def("arguments", &arguments, py::arg("kernel"));
    py::class_<OwnImage>(module, "Image", "Float pixels on a device, for kernels that read through a sampler.")
        .def("__repr__", [](const OwnImage& own) { return "<gpuopt image on " + own.session->device().name + ">"; });
    py::class_<OwnSampler>(module, "Sampler", "How a kernel reads pixels, handed over as an argument.")
        .def("__repr__",
             [](const OwnSampler& own) { return "<gpuopt sampler on " + own.session->device().name + ">"; });
    module.def("build_program", &build_program, py::arg("device"), py::arg("source"), py::arg("name"),
               py::arg("options"));
    module.def("make_image", &make_image, py::arg("pixels"), py::arg("channels"));
    module.def("make_sampler", &make_sampler, py::arg("device"), py::arg("normalized"), py::arg("address"),
               py::arg("filter"));
    module.def("prepare_own", &prepare, py::arg("device"), py::arg("steps"), py::arg("main_step"), py::arg("flops"),
               py::arg("bytes"));
}

}  // namespace gpuopt
