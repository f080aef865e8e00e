// Exact projections of bodies, on a device.
#pragma once

#include "runtime/device_array.hpp"

namespace gpuopt {

// What kernels/tomography/passes/bodies.cl reads, of one dtype (f32 or f64), in which it computes.
struct BodyTables {
    DType dtype = DType::f64;
    std::vector<unsigned char> ways, bodies,
        steps;                                    // (views, 4, 3); (views, bodies, 16); (1 or views, columns along, 2)
    std::int64_t ellipsoids = 0, blobs = 0;       // the first bodies are the ellipsoids
    std::int64_t along = 1, across = 1;           // rays of a pixel
    bool parallel = false, steps_differ = false;  // whether each view has steps of its own
};

// Computes `projections` (views, rows, columns), float32 or float64; with `wait` false it is started alone. Throws
// KernelBuildError, DeviceMemoryError.
void project_bodies(const DeviceArray& projections, const BodyTables& tables, bool wait);

}  // namespace gpuopt
