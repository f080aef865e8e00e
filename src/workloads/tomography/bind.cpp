#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "runtime/sizes.hpp"
#include "workloads/tomography/bind_projector.hpp"
#include "workloads/tomography/tomography.hpp"

namespace gpuopt {
namespace {

using Frames = py::array_t<double, py::array::c_style | py::array::forcecast>;

// Products that are taken below fit 63 bits, and what kernels count by int fits theirs.
void require_sizes(const TomographyGeometry& made) {
    constexpr auto most = std::int64_t(INT32_MAX);
    if (!size_product({made.count[0], made.count[1], made.count[2], 64}))
        throw ParameterError("shape", "the volume has more voxels than can be counted", "give a smaller one");
    if (!size_product({made.views, made.rows, made.columns, 64}))
        throw ParameterError("det", "the scan has more pixels than can be counted", "give fewer views or pixels");
    if ((made.rows + 3) * (made.columns + 3) > most)
        throw ParameterError("det", std::to_string(made.rows * made.columns) + " pixels are too many for a view",
                             "give fewer than 2^31");
    if (made.views * made.columns > most)
        throw ParameterError("det", std::to_string(made.views * made.columns) + " columns of all views are too many",
                             "give fewer than 2^31");
}

void require_numbers(const TomographyGeometry& made) {
    const auto finite = [](double value) { return std::isfinite(value); };
    const auto size = [](double value) { return std::isfinite(value) && value > 0; };
    if (!std::all_of(made.frames.begin(), made.frames.end(), finite))
        throw ArrayError("frames", "they hold NaN or infinity", "give finite vectors");
    if (!std::all_of(made.voxel.begin(), made.voxel.end(), size))
        throw ParameterError("voxel", "one is not above 0", "give finite sizes above 0");
    if (!std::all_of(made.middle.begin(), made.middle.end(), finite) || !finite(made.radius) || made.radius < 0)
        throw ParameterError("middle", "it or the radius is no number", "give finite ones");
}

// What gpuopt.tomo has checked: the shapes stand here as the kernels' own.
TomographyGeometry geometry(const Frames& frames, std::int64_t rows, std::int64_t columns, bool parallel, double radius,
                            const std::vector<std::int64_t>& shape, const std::vector<double>& voxel,
                            const std::vector<double>& middle) {
    if (frames.ndim() != 2 || frames.shape(0) < 1 || frames.shape(1) != 12)
        throw ArrayError("frames", "they are no (views, 12)", "give source, centre, column and row of each view");
    if ((shape.size() != 2 && shape.size() != 3) || voxel.size() != shape.size() || middle.size() != shape.size())
        throw ArrayError("shape",
                         "it has " + std::to_string(shape.size()) + " axes, voxel " + std::to_string(voxel.size()) +
                             ", middle " + std::to_string(middle.size()),
                         "give (z, y, x), or (y, x), for each");
    TomographyGeometry made;
    made.dimensions = static_cast<int>(shape.size());
    made.views = frames.shape(0);
    made.rows = rows;
    made.columns = columns;
    made.parallel = parallel;
    made.radius = radius;
    made.frames.assign(frames.data(), frames.data() + frames.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const auto from = shape.size() - 1 - axis;
        made.count[axis] = shape[from];
        made.voxel[axis] = voxel[from];
        made.middle[axis] = middle[from];
    }
    for (const auto n : {made.count[0], made.count[1], made.count[2], rows, columns, made.views})
        if (n < 1 || n > (std::int64_t(1) << 30))
            throw ParameterError("shape", std::to_string(n) + " is no count", "give at least 1 and at most 2^30");
    require_sizes(made);
    require_numbers(made);
    return made;
}

BackWeight weight_of(const std::string& name) {
    if (name == "none") return BackWeight::none;
    if (name == "fdk") return BackWeight::fdk;
    if (name == "adjoint") return BackWeight::adjoint;
    throw ParameterError("weight", "there is none called \"" + name + "\"", "use adjoint, none or fdk");
}

void require_shape(const DeviceArray& array, const char* name, std::int64_t elements) {
    if (array.dtype != DType::f32)
        throw ArrayError(name, std::string("its dtype is ") + facts(array.dtype).numpy_name, "use float32");
    std::int64_t found = 1;
    for (const auto n : array.shape) found *= n;
    if (found != elements)
        throw ArrayError(name,
                         "its shape is " + shape_text(array.shape) + ", of " + std::to_string(found) + " elements",
                         "give one of " + std::to_string(elements));
}

// `make` makes a plan of a back projection of these arrays.
template <class Make>
auto with_arrays(const Make& make, const DeviceArray& projections, const DeviceArray& volume,
                 const TomographyGeometry& geometry, const std::string& weight, double fdk, bool accumulate,
                 const std::string& variant, const Parameters& parameters) {
    require_shape(projections, "projections", geometry.pixels());
    require_shape(volume, "volume", geometry.voxels());
    if (projections.buffer->session() != volume.buffer->session())
        throw ArrayError("volume", "it lies on another device than projections", "make both on one device");
    BackProjection arguments{projections.buffer, volume.buffer, geometry, weight_of(weight), fdk, accumulate};
    const WithoutGil release;
    return make(volume.buffer->session(), arguments, variant, parameters);
}

std::shared_ptr<Prepared> prepare(const DeviceArray& projections, const DeviceArray& volume,
                                  const TomographyGeometry& geometry, const std::string& weight, double fdk,
                                  bool accumulate, const std::string& variant, const Parameters& parameters) {
    return with_arrays(prepare_back_projection, projections, volume, geometry, weight, fdk, accumulate, variant,
                       parameters);
}

std::shared_ptr<ProjectorPlan> plan(const DeviceArray& projections, const DeviceArray& volume,
                                    const TomographyGeometry& geometry, const std::string& weight, double fdk,
                                    bool accumulate, const std::string& variant, const Parameters& parameters) {
    return with_arrays(plan_back_projection, projections, volume, geometry, weight, fdk, accumulate, variant,
                       parameters);
}

}  // namespace

void bind_tomography(py::module_& module) {
    py::class_<TomographyGeometry>(module, "TomographyGeometry", "A scan and a volume as kernels take them.")
        .def(py::init(&geometry), py::kw_only(), py::arg("frames"), py::arg("rows"), py::arg("columns"),
             py::arg("parallel"), py::arg("radius"), py::arg("shape"), py::arg("voxel"), py::arg("middle"))
        .def_property_readonly("upright", [](const TomographyGeometry& it) { return properties_of(it).upright; })
        .def_property_readonly("equiangular",
                               [](const TomographyGeometry& it) { return properties_of(it).equiangular; });
    module.def("prepare_back_projection", &prepare, py::arg("projections"), py::arg("volume"), py::arg("geometry"),
               py::kw_only(), py::arg("weight"), py::arg("fdk"), py::arg("accumulate"), py::arg("variant"),
               py::arg("parameters"));
    module.def("plan_back_projection", &plan, py::arg("projections"), py::arg("volume"), py::arg("geometry"),
               py::kw_only(), py::arg("weight"), py::arg("fdk"), py::arg("accumulate"), py::arg("variant"),
               py::arg("parameters"), "The same, whose arrays may be exchanged.");
    bind_projector(module);
    bind_filter(module);
}

}  // namespace gpuopt
