// Recordings of what a call launches.
#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/text.hpp"
#include "bindings/topics.hpp"
#include "runtime/recording.hpp"

namespace gpuopt {
namespace {

py::object number_or_none(int number) {
    if (number < 0) return py::none();
    return py::int_(number);
}

py::list programs(const Recording& recording) {
    py::list list;
    for (const auto& program : recording.programs()) {
        py::dict entry;
        entry["name"] = decoded(program->path);
        entry["text"] = py::bytes(*program->text);
        entry["options"] = decoded(program->options);
        list.append(entry);
    }
    return list;
}

py::list objects(const Recording& recording) {
    py::list list;
    for (const auto& object : recording.objects()) {
        py::dict entry;
        entry["type"] = object.type;
        entry["flags"] = object.flags;
        entry["parent"] = number_or_none(object.parent);
        entry["first"] = object.first;
        entry["bytes"] = object.bytes;
        entry["host_offset"] = number_or_none(object.host_offset);
        entry["size"] = py::tuple(py::cast(object.size));
        entry["format"] = py::make_tuple(object.format.image_channel_order, object.format.image_channel_data_type);
        entry["before"] = number_or_none(object.before);
        entry["after"] = number_or_none(object.after);
        list.append(entry);
    }
    return list;
}

py::tuple sizes(const std::array<std::size_t, 3>& all, int dimensions) {
    py::tuple found(dimensions);
    for (int i = 0; i < dimensions; ++i) found[std::size_t(i)] = all[std::size_t(i)];
    return found;
}

py::dict launch(const Recording::Step& step) {
    py::list arguments;
    for (const auto& argument : step.arguments) {
        py::dict entry;
        entry["object"] = number_or_none(argument.memory);
        entry["value"] = py::bytes(argument.value);
        entry["local_bytes"] = argument.local_bytes;
        arguments.append(entry);
    }
    py::dict entry;
    entry["program"] = step.program;
    entry["kernel"] = step.entry_point;
    entry["global"] = sizes(step.launch.global, step.launch.dimensions);
    entry["local"] = sizes(step.launch.local, step.launch.dimensions);
    entry["arguments"] = arguments;
    return entry;
}

py::list steps(const Recording& recording) {
    py::list list;
    for (const auto& step : recording.steps()) {
        if (step.program >= 0) {
            list.append(launch(step));
            continue;
        }
        py::dict entry;
        entry["object"] = step.memory;
        entry["contents"] = step.contents;
        list.append(entry);
    }
    return list;
}

// Bytes that lie in the recording, which they keep alive.
py::list contents(const std::shared_ptr<Recording>& recording) {
    py::list list;
    for (const auto& bytes : recording->contents()) {
        py::array_t<unsigned char> view(py::ssize_t(bytes.size()), bytes.data(), py::cast(recording));
        view.attr("flags").attr("writeable") = false;
        list.append(view);
    }
    return list;
}

void end(Recording& recording, const py::object& error) {
    Recording::close();
    const bool failed = !error.is_none();
    const WithoutGil release;
    if (failed) recording.let_go();
    else recording.finish();
}

}  // namespace

void bind_recording(py::module_& module) {
    py::class_<Recording, std::shared_ptr<Recording>>(module, "Recording", "What a thread launches within it.")
        .def(py::init<std::size_t>(), py::arg("most_bytes"))
        .def("__enter__",
             [](const std::shared_ptr<Recording>& recording) {
                 Recording::open(recording);
                 return recording;
             })
        .def("__exit__", [](Recording& recording, const py::object& error, const py::object&,
                            const py::object&) { end(recording, error); })
        .def_property_readonly(
            "device",
            [](const Recording& recording) -> py::object {
                if (!recording.session()) return py::none();
                return py::cast(std::const_pointer_cast<Device>(recording.session()->shared_device()));
            })
        .def_property_readonly("programs", &programs)
        .def_property_readonly("objects", &objects)
        .def_property_readonly("steps", &steps)
        .def_property_readonly("contents", &contents);
    module.def("is_recording", [] { return Recording::now() != nullptr; });
}

}  // namespace gpuopt
