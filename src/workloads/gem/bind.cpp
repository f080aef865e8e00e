#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "workloads/gem/gem.hpp"

namespace gpuopt {
namespace {

Operand host_array(const py::object& given, const char* name, DType dtype, const char* like,
                   const std::vector<std::int64_t>& shape) {
    auto made = operand(given, name);
    if (made.is_device()) throw ArrayError(name, "it is a DeviceArray", "give a NumPy array");
    require_dtype(made, dtype, like);
    if (made.shape != shape)
        throw ArrayError(name, "its shape is " + shape_text(made.shape), "give shape " + shape_text(shape));
    return made;
}

GemModel model_of(const std::map<std::string, double>& numbers, const std::string& part, bool compat) {
    GemModel model;
    model.coulomb = numbers.at("coulomb");
    model.kappa = numbers.at("kappa");
    model.epsilon_in = numbers.at("epsilon_in");
    model.epsilon_out = numbers.at("epsilon_out");
    model.size = numbers.at("size");
    model.ion_exclusion = numbers.at("ion_exclusion");
    model.alpha = numbers.at("alpha");
    model.part = part == "coulomb" ? GemPart::coulomb : part == "reaction" ? GemPart::reaction : GemPart::total;
    model.compat = compat;
    return model;
}

// `use` gets the input, while the arrays are there and the GIL is not held.
template <class Use>
auto with_input(const py::object& xyz, const py::object& charge, const py::object& inner, const py::object& place,
                const py::object& shift, const py::object& r, const std::map<std::string, double>& numbers,
                const std::string& part, bool compat, double nearest, const DeviceArray& out, const Use& use) {
    const auto atoms = operand(xyz, "xyz"), points = operand(place, "points");
    if (atoms.dtype != DType::f32 && atoms.dtype != DType::f64)
        throw ArrayError("xyz", std::string("its dtype is ") + facts(atoms.dtype).numpy_name, "use float32 or float64");
    GemArguments input;
    input.dtype = atoms.dtype;
    input.atoms = atoms.rank() > 0 ? atoms.shape[0] : 0;
    input.points = points.rank() > 0 ? points.shape[0] : 0;
    std::vector<Operand> held = {host_array(xyz, "xyz", atoms.dtype, "xyz", {input.atoms, 3}),
                                 host_array(charge, "charge", atoms.dtype, "xyz", {input.atoms}),
                                 host_array(place, "points", atoms.dtype, "xyz", {input.points, 3}),
                                 host_array(r, "r", DType::f64, "a distance", {input.points})};
    input.xyz = held[0].host;
    input.charge = held[1].host;
    input.place = held[2].host;
    input.r = static_cast<const double*>(held[3].host);
    if (!inner.is_none()) {
        held.push_back(host_array(inner, "inner", DType::f64, "a distance", {input.atoms}));
        input.inner = static_cast<const double*>(held.back().host);
    }
    if (!shift.is_none()) {
        held.push_back(host_array(shift, "shift", atoms.dtype, "xyz", {input.points, 3}));
        input.shift = held.back().host;
    }
    input.nearest = nearest;
    if (out.dtype != atoms.dtype || out.shape != std::vector<std::int64_t>{input.points})
        throw ArrayError("out", "its shape or dtype is not the potentials'",
                         "give shape " + shape_text({input.points}) + " of " + facts(atoms.dtype).numpy_name);
    input.model = model_of(numbers, part, compat);
    input.phi = out.buffer;
    const WithoutGil release;
    return use(input);
}

std::shared_ptr<Prepared> prepare(const py::object& xyz, const py::object& charge, const py::object& inner,
                                  const py::object& place, const py::object& shift, const py::object& r,
                                  const std::map<std::string, double>& numbers, const std::string& part, bool compat,
                                  double nearest, const DeviceArray& out, const std::string& variant,
                                  const Parameters& parameters) {
    return with_input(xyz, charge, inner, place, shift, r, numbers, part, compat, nearest, out,
                      [&](const GemArguments& input) { return prepare_gem(input, variant, parameters); });
}

void run(const py::object& xyz, const py::object& charge, const py::object& inner, const py::object& place,
         const py::object& shift, const py::object& r, const std::map<std::string, double>& numbers,
         const std::string& part, bool compat, double nearest, const DeviceArray& out, const std::string& variant,
         const Parameters& parameters) {
    with_input(xyz, charge, inner, place, shift, r, numbers, part, compat, nearest, out,
               [&](const GemArguments& input) { run_gem(input, variant, parameters); });
}

}  // namespace

void bind_gem(py::module_& module) {
    const auto define = [&](const char* name, auto* function) {
        module.def(name, function, py::kw_only(), py::arg("xyz"), py::arg("charge"), py::arg("inner"),
                   py::arg("points"), py::arg("shift"), py::arg("r"), py::arg("numbers"), py::arg("part"),
                   py::arg("compat"), py::arg("nearest"), py::arg("out"), py::arg("variant"), py::arg("parameters"));
    };
    define("prepare_gem", &prepare);
    define("gem", &run);
}

}  // namespace gpuopt
