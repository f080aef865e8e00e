// Projectors along rays, and arithmetic between them.
#include "workloads/tomography/bind_projector.hpp"

#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "runtime/arithmetic.hpp"
#include "workloads/tomography/joseph.hpp"

namespace gpuopt {
namespace {

using released = py::call_guard<WithoutGil>;

const Buffer& floats(const DeviceArray& array, const char* name, const std::shared_ptr<Session>& session) {
    if (array.dtype != DType::f32)
        throw ArrayError(name, std::string("its dtype is ") + facts(array.dtype).numpy_name, "use float32");
    if (array.buffer->session() != session)
        throw ArrayError(
            name,
            "it lies on " + array.buffer->session()->device().name + ", the projector on " + session->device().name,
            "make it on the projector's device");
    return *array.buffer;
}
// As many elements as `like` has.
const Buffer& floats(const DeviceArray& array, const char* name, const DeviceArray& like) {
    const auto& buffer = floats(array, name, like.buffer->session());
    if (buffer.bytes() != like.buffer->bytes())
        throw ArrayError(name, "its shape is " + shape_text(array.shape), "give " + shape_text(like.shape));
    return buffer;
}
const std::shared_ptr<Buffer>& floats(const DeviceArray& array, const char* name,
                                      const std::shared_ptr<Session>& session, std::int64_t elements) {
    if (floats(array, name, session).bytes() != static_cast<std::size_t>(elements) * 4)
        throw ArrayError(name, "its shape is " + shape_text(array.shape),
                         "give one of " + std::to_string(elements) + " elements");
    return array.buffer;
}

DeviceArray copied_views(const DeviceArithmetic& arithmetic, const DeviceArray& p,
                         const std::vector<std::int64_t>& views) {
    floats(p, "projections", arithmetic.session());
    auto shape = p.shape;
    const auto all = shape.at(0);
    shape[0] = static_cast<std::int64_t>(views.size());
    auto found = DeviceArray::empty(arithmetic.session(), DType::f32, shape, "some of the projections");
    const auto bytes = p.buffer->bytes() / static_cast<std::size_t>(std::max<std::int64_t>(all, 1));
    for (std::size_t i = 0, count; i < views.size(); i += count) {
        for (count = 1; i + count < views.size() && views[i + count] == views[i] + static_cast<std::int64_t>(count);)
            ++count;
        if (views[i] < 0 || views[i] + static_cast<std::int64_t>(count) > all)
            throw ParameterError("views", std::to_string(views[i]) + " is none of " + std::to_string(all),
                                 "count from 0");
        copy_bytes(*p.buffer, static_cast<std::size_t>(views[i]) * bytes, count * bytes, *found.buffer, i * bytes);
    }
    return found;
}

// Longer than a function should be: it is one class's list of methods.
void bind_arithmetic(py::module_& module) {
    py::class_<DeviceSums>(module, "DeviceSums", "Two sums that wait on the device until they are read.")
        .def("read", &DeviceSums::read, released());
    py::class_<DeviceArithmetic>(module, "DeviceArithmetic",
                                 "Arithmetic of iterations on float32 arrays of a device; what returns no number does "
                                 "not wait for it.")
        .def(py::init([](const Device& device) {
                 const WithoutGil release;  // pybind11 enters the object in its map with the lock: no call guard here
                 return std::make_unique<DeviceArithmetic>(session_of(device));
             }),
             py::arg("device"))
        .def(
            "fill",
            [](const DeviceArithmetic& self, const DeviceArray& x, float value) {
                self.fill(floats(x, "x", self.session()), value);
            },
            py::arg("x"), py::arg("value"), released())
        .def(
            "copy",
            [](const DeviceArithmetic& self, const DeviceArray& x, const DeviceArray& out) {
                const auto& from = floats(x, "x", self.session());
                if (from.bytes() > 0) copy_bytes(from, 0, from.bytes(), floats(out, "out", x), 0);
            },
            py::arg("x"), py::arg("out"), released())
        .def("views", &copied_views, py::arg("p"), py::arg("views"), released())
        .def(
            "axpy",
            [](const DeviceArithmetic& self, float a, const DeviceArray& x, const DeviceArray& y,
               const DeviceArray& out) {
                self.axpy(a, floats(x, "x", self.session()), floats(y, "y", x), floats(out, "out", x));
            },
            py::arg("a"), py::arg("x"), py::arg("y"), py::arg("out"), released())
        .def(
            "multiply",
            [](const DeviceArithmetic& self, const DeviceArray& x, const DeviceArray& by) {
                self.multiply(floats(x, "x", self.session()), floats(by, "by", x));
            },
            py::arg("x"), py::arg("by"), released())
        .def(
            "reciprocal",
            [](const DeviceArithmetic& self, const DeviceArray& x, float fraction, std::optional<float> largest) {
                const auto& buffer = floats(x, "x", self.session());
                if (largest) self.reciprocal(buffer, fraction, *largest);
                else self.reciprocal(buffer, fraction);
            },
            py::arg("x"), py::arg("fraction"), py::arg("largest") = py::none(), released())
        .def(
            "residual",
            [](const DeviceArithmetic& self, const DeviceArray& b, const DeviceArray& ax, const DeviceArray& weights) {
                return self.residual(floats(b, "b", self.session()), floats(ax, "ax", b),
                                     floats(weights, "weights", b));
            },
            py::arg("b"), py::arg("ax"), py::arg("weights"), released())
        .def(
            "update",
            [](const DeviceArithmetic& self, const DeviceArray& x, float step, const DeviceArray& weights,
               const DeviceArray& g, float low, float high, float rounding, const std::optional<DeviceArray>& mask,
               const DeviceArray& out) {
                self.update(floats(x, "x", self.session()), step, floats(weights, "weights", x), floats(g, "g", x), low,
                            high, rounding, mask ? &floats(*mask, "mask", x) : nullptr, floats(out, "out", x));
            },
            py::arg("x"), py::arg("step"), py::arg("weights"), py::arg("g"), py::arg("low"), py::arg("high"),
            py::arg("rounding"), py::arg("mask"), py::arg("out"), released())
        .def(
            "largest",
            [](const DeviceArithmetic& self, const DeviceArray& x) {
                return self.largest(floats(x, "x", self.session()));
            },
            py::arg("x"), released())
        .def(
            "dot",
            [](const DeviceArithmetic& self, const DeviceArray& x, const DeviceArray& y) {
                return self.dot(floats(x, "x", self.session()), floats(y, "y", x));
            },
            py::arg("x"), py::arg("y"), released())
        .def(
            "not_finite",
            [](const DeviceArithmetic& self, const DeviceArray& x) {
                return self.not_finite(floats(x, "x", self.session()));
            },
            py::arg("x"), released(), "How many elements are NaN or infinite.")
        .def("finish", &DeviceArithmetic::finish, released(), "Waits for all that was enqueued.");
}

std::shared_ptr<ProjectorPlan> prepare(const std::shared_ptr<JosephScratch>& scratch, const DeviceArray& volume,
                                       const DeviceArray& projections, const TomographyGeometry& geometry,
                                       bool accumulate, const std::string& variant, const Parameters& parameters) {
    const auto& session = volume.buffer->session();
    floats(volume, "volume", session, geometry.voxels());
    floats(projections, "projections", session, geometry.pixels());
    auto shared = scratch ? scratch : std::make_shared<JosephScratch>(session);
    if (shared->session() != session)
        throw ArrayError("volume", "it lies on another device than the projector", "make it on the projector's");
    return prepare_joseph(shared, {volume.buffer, projections.buffer, geometry, accumulate}, variant, parameters);
}

}  // namespace

void bind_projector(py::module_& module) {
    bind_arithmetic(module);
    py::class_<JosephScratch, std::shared_ptr<JosephScratch>>(
        module, "JosephScratch", "Device memory that plans of one projector share, which run one after the other.")
        .def(py::init([](const Device& device) {
                 const WithoutGil release;
                 return std::make_shared<JosephScratch>(session_of(device));
             }),
             py::arg("device"));
    py::class_<ProjectorPlan, std::shared_ptr<ProjectorPlan>>(
        module, "ProjectorPlan", "A projection or its adjoint, whose arrays may be exchanged.")
        .def_property_readonly("prepared", &ProjectorPlan::prepared)
        .def(
            "start",
            [](ProjectorPlan& self, const DeviceArray& volume, const DeviceArray& projections) {
                const auto& session = self.session();
                self.start(floats(volume, "volume", session, self.voxels),
                           floats(projections, "projections", session, self.pixels));
            },
            py::arg("volume"), py::arg("projections"), released(),
            "Runs it on these arrays, and does not wait on a GPU.");
    module.def(
        "joseph_properties",
        [](const TomographyGeometry& geometry) {
            // Tables of a large scan take a while: none are made that could not say yes.
            const auto has = [](const TomographyGeometry& scan, JosephTables::Form form) {
                const int dimensions = form == JosephTables::Form::planar ? 2 : 3;
                return scan.dimensions == dimensions && joseph_tables(scan).form == form;
            };
            return std::map<std::string, bool>{{"upright", has(geometry, JosephTables::Form::upright)},
                                               {"planar", has(flattened(geometry), JosephTables::Form::planar)}};
        },
        py::arg("geometry"), released(),
        "\"upright\": whether all rows are parallel to z and no ray is steeper than it is wide; \"planar\": whether "
        "volume "
        "and rays lie in a plane.");
    module.def("prepare_joseph", &prepare, py::arg("scratch"), py::arg("volume"), py::arg("projections"),
               py::arg("geometry"), py::kw_only(), py::arg("accumulate"), py::arg("variant"), py::arg("parameters"),
               released());
}

}  // namespace gpuopt
