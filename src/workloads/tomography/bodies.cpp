#include "workloads/tomography/bodies.hpp"

#include "workloads/prepared.hpp"

namespace gpuopt {

void project_bodies(const DeviceArray& projections, const BodyTables& tables, bool wait) {
    const auto& session = projections.buffer->session();
    const auto views = projections.shape.at(0), rows = projections.shape.at(1), columns = projections.shape.at(2);
    const bool wide = tables.dtype == DType::f64 || projections.dtype == DType::f64;
    const auto name_of = [](DType dtype) { return std::string(dtype == DType::f64 ? "double" : "float"); };
    const auto options = "-cl-std=CL1.2 -DREAL=" + name_of(tables.dtype) + " -DOUT=" + name_of(projections.dtype) +
                         (wide ? " -DREAL_IS_DOUBLE" : "") + " -DALONG=" + std::to_string(tables.along) +
                         " -DACROSS=" + std::to_string(tables.across) +
                         " -DPARALLEL=" + std::to_string(static_cast<int>(tables.parallel));
    Prepared plan(session);
    const auto uploaded = [&](const std::vector<unsigned char>& table, const char* what) {
        auto buffer = std::make_shared<Buffer>(session, table.size(), what);
        buffer->upload(table.data());
        plan.keep(buffer);
        return buffer;
    };
    constexpr std::int64_t items = 64;
    plan.add(session->build("tomography/passes/bodies.cl", options), "tomography_bodies",
             launch_2d({rows * columns, views}, items, 1));
    plan.arg(projections.buffer)
        .arg(uploaded(tables.ways, "the rays of the views"))
        .arg(uploaded(tables.bodies, "the bodies in the views"))
        .arg(uploaded(tables.steps, "the places of columns"));
    const auto next_steps = tables.steps_differ ? columns * tables.along : 0;
    for (const auto n : {columns, rows, tables.ellipsoids, tables.blobs, next_steps}) plan.arg(cl_int(n));
    if (wait) plan.run();
    else plan.start();
}

}  // namespace gpuopt
