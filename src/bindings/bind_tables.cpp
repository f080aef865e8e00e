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
    module.def("variants", &variants, py::arg("workload"));
    module.def("workload_names", [] {
        std::vector<std::string> names;
        for (const auto* table : workloads()) names.push_back(table->name);
        return names;
    });
}

}  // namespace gpuopt
