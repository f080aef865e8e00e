// The transposed matrix-vector product y = A^T v (Yang, Xiang, Mantor, Zhou 2012): a read of A.
#pragma once

#include "workloads/prepared.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

// How work-groups lie over A: `strips` of columns, and `parts` of at most `part_rows` rows.
struct TmvGrid {
    std::int64_t strips = 1, parts = 1, part_rows = 0;
    std::int64_t across = 0;  // work-items across a group, of a variant whose parameter ACROSS may leave it open
};

struct TmvVariant : Variant {
    std::function<std::int64_t(const Case&)> width;  // columns of a load
    // Where it may not split the rows, there is one part. Of several, each leaves its sums, and a second pass adds
    // them.
    std::function<TmvGrid(const Case&, bool may_split)> grid;
    // Elements of v that the inner loop asks global and local memory for, an element of A.
    std::function<double(const Case&, const TmvGrid&)> from_global, from_local;
};

struct TmvArguments {
    DType dtype = DType::f32;
    std::shared_ptr<Buffer> A, v, y;
    std::int64_t rows = 0, cols = 0, stride = 0;  // of A; elements from row to row
    std::size_t aligned_to = 128;                 // bytes, of the place of A's first element
};

// Throws ArrayError for more than 2^30 rows or columns, ParameterError, UnsupportedError, KernelBuildError,
// DeviceMemoryError. That v and y fit A is the caller's to check.
std::shared_ptr<Prepared> prepare_tmv(const TmvArguments& arguments, const std::string& variant,
                                      const Parameters& parameters);

}  // namespace gpuopt
