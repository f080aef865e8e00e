// The filter of filtered back projection.
#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "runtime/copies_beside.hpp"
#include "workloads/tomography/bind_projector.hpp"
#include "workloads/tomography/bodies.hpp"
#include "workloads/tomography/row_filter.hpp"

namespace gpuopt {
namespace {

using released = py::call_guard<WithoutGil>;

void require(const DeviceArray& array, const char* name, const std::shared_ptr<Session>& session,
             std::int64_t elements) {
    if (array.dtype != DType::f32)
        throw ArrayError(name, std::string("its dtype is ") + facts(array.dtype).numpy_name, "use float32");
    if (array.buffer->session() != session)
        throw ArrayError(
            name, "it lies on " + array.buffer->session()->device().name + ", the filter on " + session->device().name,
            "make it on the filter's device");
    if (array.buffer->bytes() != static_cast<std::size_t>(elements) * 4)
        throw ArrayError(name, "its shape is " + shape_text(array.shape),
                         "give one of " + std::to_string(elements) + " elements");
}

void require_table(const DeviceArray& table, const char* name, const std::shared_ptr<Session>& session,
                   std::int64_t rows, std::int64_t columns) {
    const auto fits = [](std::int64_t found, std::int64_t wanted) { return found == 1 || found == wanted; };
    if (table.shape.size() != 2 || !fits(table.shape[0], rows) || !fits(table.shape[1], columns))
        throw ArrayError(name, "its shape is " + shape_text(table.shape),
                         "give (" + std::to_string(rows) + ", " + std::to_string(columns) + "), or 1 for either");
    require(table, name, session, table.shape[0] * table.shape[1]);
}

std::unique_ptr<RowFilter> make(const DeviceArray& weights, const DeviceArray& slants, const DeviceArray& response,
                                const std::array<std::int64_t, 3>& shape, std::int64_t lead, std::int64_t trail,
                                bool rows_reversed, bool columns_reversed) {
    const WithoutGil release;  // pybind11 enters the object in its map with the lock: no call guard on the constructor
    RowFilterShape made{shape[0], shape[1], shape[2], lead, trail, rows_reversed, columns_reversed};
    constexpr auto most = std::int64_t(1) << 30;
    for (const auto n : shape)
        if (n < 1 || n > most) throw ParameterError("shape", std::to_string(n) + " is no count", "give at least 1");
    for (const auto n : {lead, trail})
        if (n < 0 || n > most) throw ParameterError("lead", std::to_string(n) + " columns cannot be", "give 0 or more");
    if (made.count() > std::int64_t(1) << 40)
        throw ParameterError("shape", "it has more rows than can be counted", "give fewer");
    const auto& session = response.buffer->session();
    if (response.shape.size() != 1)
        throw ArrayError("response", "its shape is " + shape_text(response.shape), "give (length,)");
    require(response, "response", session, response.shape[0]);
    require_table(weights, "weights", session, made.views, made.columns);
    require_table(slants, "slants", session, made.rows, made.columns);
    if (response.shape[0] < 2 * made.wide() - 1)
        throw ArrayError("response", "its length is " + std::to_string(response.shape[0]),
                         "give at least " + std::to_string(2 * made.wide() - 1));
    return std::make_unique<RowFilter>(weights, slants, response, made);
}

DeviceArray start(RowFilter& self, const DeviceArray& projections, const DeviceArray& out) {
    const auto& shape = self.shape();
    require(projections, "projections", self.session(), shape.count() * shape.columns);
    require(out, "out", self.session(), shape.count() * shape.wide());
    const bool other_order = shape.rows_reversed || shape.columns_reversed || shape.wide() != shape.columns;
    if (projections.buffer->meets(*out.buffer) && other_order)
        throw ArrayError("out", "it is the projections, whose order or width differs", "give another array");
    if (out.buffer->is_shifted(*projections.buffer))
        throw ArrayError("out", "it shares a part of its memory with the projections", "give another array");
    return self.start(projections.buffer, out.buffer);
}

std::unique_ptr<CopiesBeside> copies(const Device& device) {
    const auto session = session_of(device);
    const WithoutGil release;
    return std::make_unique<CopiesBeside>(session);
}

// The caller's side of a copy, checked against the device's.
void require_alike(const CopiesBeside& copies, const Operand& host, const DeviceArray& there) {
    require_dtype(host, there.dtype, "the device's array");
    if (host.is_device() || host.shape != there.shape || there.buffer->session() != copies.session())
        throw ArrayError(host.name, "its shape is " + shape_text(host.shape),
                         "give a NumPy array of shape " + shape_text(there.shape) + ", and the device's own array");
}

void upload(CopiesBeside& self, const py::object& given, const DeviceArray& to) {
    const auto from = operand(given, "projections");
    require_alike(self, from, to);
    const WithoutGil release;
    self.upload(from.host, *to.buffer);
}

void download(CopiesBeside& self, const DeviceArray& from, const py::object& given) {
    const auto to = operand(given, "to", true);
    require_alike(self, to, from);
    const WithoutGil release;
    self.download(*from.buffer, to.host);
}

std::vector<unsigned char> bytes_of(const Operand& table) {
    const auto* const from = static_cast<const unsigned char*>(table.host);
    return {from, from + DeviceArray::bytes_of(table.dtype, table.shape, table.name)};
}

void project(const DeviceArray& projections, const py::object& ways, const py::object& bodies, const py::object& steps,
             std::int64_t ellipsoids, std::int64_t along, std::int64_t across, bool parallel, bool wait) {
    const auto first = operand(ways, "ways"), second = operand(bodies, "bodies"), third = operand(steps, "steps");
    for (const auto* table : {&first, &second, &third}) require_dtype(*table, first.dtype, "ways");
    const auto real = [](DType dtype) { return dtype == DType::f32 || dtype == DType::f64; };
    const auto& shape = projections.shape;
    if (!real(first.dtype) || !real(projections.dtype) || shape.size() != 3)
        throw ArrayError("projections", "its shape is " + shape_text(shape), "give (views, rows, columns), of floats");
    const auto count = second.shape.size() == 3 ? second.shape[1] : 0;
    const auto fits = [](const Operand& table, const std::vector<std::int64_t>& wanted) {
        return table.host && table.shape == wanted;
    };
    if (count < 1 || ellipsoids < 0 || ellipsoids > count || along < 1 || across < 1 || along > 100 || across > 100 ||
        !fits(first, {shape[0], 4, 3}) || !fits(second, {shape[0], count, 16}) ||
        !(fits(third, {1, along * shape[2], 2}) || fits(third, {shape[0], along * shape[2], 2})))
        throw ArrayError("bodies", "its shape is " + shape_text(second.shape), "give tables of one scan");
    constexpr auto most = std::int64_t(1) << 24;
    if (shape[0] > most_groups_yz || shape[1] > most || shape[2] > most || shape[1] * shape[2] >= std::int64_t(1) << 30)
        throw ArrayError("projections", "its shape is " + shape_text(shape), "give fewer views or pixels");
    BodyTables tables;
    tables.dtype = first.dtype;
    tables.ways = bytes_of(first);
    tables.bodies = bytes_of(second);
    tables.steps = bytes_of(third);
    tables.ellipsoids = ellipsoids;
    tables.blobs = count - ellipsoids;
    tables.along = along;
    tables.across = across;
    tables.parallel = parallel;
    tables.steps_differ = third.shape[0] > 1;
    const WithoutGil release;
    project_bodies(projections, tables, wait);
}

}  // namespace

void bind_filter(py::module_& module) {
    module.def(
        "transform_length",
        [](const Device& device, std::int64_t least) { return transform_shape(device, least).length; },
        py::arg("device"), py::arg("least"),
        "The length of the shortest Fourier transform of at least so many elements that the device's local memory "
        "holds, of 2^k or else of 3 2^k elements; 0: it holds none.");
    py::class_<RowFilter>(module, "RowFilter", "Weights and filters rows of projections on a device.")
        .def(py::init(&make), py::arg("weights"), py::arg("slants"), py::arg("response"), py::kw_only(),
             py::arg("shape"), py::arg("lead") = 0, py::arg("trail") = 0, py::arg("rows_reversed") = false,
             py::arg("columns_reversed") = false)
        .def("start", &start, py::arg("projections"), py::arg("out"), released(),
             "Enqueues it; returns (rows of all views, 4): the largest value of each, the first, the last, and 1 where "
             "one is beyond 1e15, infinite or NaN.");
    module.def("project_bodies", &project, py::arg("projections"), py::kw_only(), py::arg("ways"), py::arg("bodies"),
               py::arg("steps"), py::arg("ellipsoids"), py::arg("along"), py::arg("across"), py::arg("parallel"),
               py::arg("wait") = true);
    py::class_<CopiesBeside>(module, "CopiesBeside", "Copies that go on beside kernels, of arrays that take turns.")
        .def(py::init(&copies), py::arg("device"))
        .def("upload", &upload, py::arg("projections"), py::arg("to"))
        .def("download", &download, py::arg("from_"), py::arg("to"))
        .def(
            "used", [](CopiesBeside& self, const DeviceArray& array) { self.used(*array.buffer); }, py::arg("array"),
            released());
}

}  // namespace gpuopt
