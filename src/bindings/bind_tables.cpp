// The variant tables, read-only.
#include <pybind11/stl.h>

#include "bindings/topics.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {
namespace py = pybind11;
namespace {

// A row with what derives from it, by value: the tables themselves are never handed out.
struct VariantView {
    std::string workload, name, summary, source, entry_point;
    std::vector<Parameter> parameters;
    std::string family;
    std::vector<std::string> needs, input_properties, dtypes;
};

std::vector<VariantView> variants(const std::string& name) {
    const auto& table = workload(name);
    std::vector<VariantView> list;
    for (const auto* row : table.variants) {
        std::vector<std::string> dtypes;
        for (const auto dtype : table.dtypes_of(*row)) dtypes.emplace_back(facts(dtype).numpy_name);
        list.push_back({table.name, row->name, row->summary, table.source_path(*row), table.entry_point(*row),
                        row->parameters, row->family, row->needs, row->input_properties, dtypes});
    }
    return list;
}

// A device of these facts, as far as rules ask for them; made up ones serve as well.
Device device_of(const py::dict& told) {
    Device device;
    const auto take = [&](const char* name, auto& fact) {
        if (told.contains(name)) fact = told[name].cast<std::decay_t<decltype(fact)>>();
    };
    take("name", device.name);
    take("vendor", device.vendor);
    take("architecture", device.architecture);
    take("compute_units", device.compute_units);
    take("local_bytes", device.local_bytes);
    take("constant_bytes", device.constant_bytes);
    take("max_work_group_size", device.max_work_group_size);
    take("image_support", device.image_support);
    take("fp64", device.fp64);
    take("fp16", device.fp16);
    take("subgroups", device.subgroups);
    std::vector<std::string> extensions;
    take("extensions", extensions);
    device.extensions = {extensions.begin(), extensions.end()};
    if (told.contains("type"))
        for (const auto type : {DeviceType::gpu, DeviceType::accelerator, DeviceType::cpu})
            if (told["type"].cast<std::string>() == name_of(type)) device.type = type;
    return device;
}

std::string refused(const std::string& name, const std::string& variant, const Parameters& parameters,
                    const std::string& dtype, const py::dict& facts_of_device) {
    const auto& table = workload(name);
    const auto& row = table.variant(variant);
    const auto device = device_of(facts_of_device);
    for (const auto known : table.dtypes)
        if (facts(known).numpy_name == dtype) return refusal(table, row, {device, known, table.usual, parameters});
    return name + " has no kernels for " + dtype;
}

}  // namespace

void bind_tables(py::module_& module) {
    py::class_<Parameter>(module, "Parameter", "A tunable of a variant: its levels, and the standard one.")
        .def_readonly("name", &Parameter::name)
        .def_readonly("levels", &Parameter::levels)
        .def_readonly("standard", &Parameter::standard)
        .def_readonly("meaning", &Parameter::meaning)
        .def_readonly("alters_accuracy", &Parameter::alters_accuracy)
        .def("__repr__", [](const Parameter& parameter) { return "<gpuopt.Parameter " + parameter.name + ">"; });
    py::class_<VariantView>(module, "Variant", "One kernel idea: a row of a workload's table.")
        .def_readonly("workload", &VariantView::workload)
        .def_readonly("name", &VariantView::name)
        .def_readonly("summary", &VariantView::summary)
        .def_readonly("source", &VariantView::source)
        .def_readonly("entry_point", &VariantView::entry_point)
        .def_readonly("parameters", &VariantView::parameters)
        .def_readonly("needs", &VariantView::needs)
        .def_readonly("input_properties", &VariantView::input_properties)
        .def_readonly("family", &VariantView::family,
                      "Which question it answers, of a workload of many; empty elsewhere.")
        .def_readonly("dtypes", &VariantView::dtypes)
        .def("__repr__", [](const VariantView& variant) {
            return "<gpuopt.Variant " + variant.workload + " " + variant.name + ": " + variant.summary + ">";
        });
    py::class_<Levels>(module, "Levels", "Values of parameters, read once for many calls.")
        .def(py::init<Parameters>(), py::arg("parameters"));
    py::implicitly_convertible<py::dict, Levels>();
    module.def("variants", &variants, py::arg("workload"));
    module.def("refusal", &refused, py::arg("workload"), py::arg("variant"), py::arg("parameters"), py::arg("dtype"),
               py::arg("device"),
               "Why a configuration cannot run on a device of these facts whatever the input; empty where it can.");
    module.def("workload_names", [] {
        std::vector<std::string> names;
        for (const auto* table : workloads()) names.push_back(table->name);
        return names;
    });
}

}  // namespace gpuopt
