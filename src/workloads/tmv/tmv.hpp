// The transposed matrix-vector product y = A^T v (Yang, Xiang, Mantor, Zhou 2012): a read of A.
#pragma once

#include "workloads/prepared.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

// How work-groups lie over A: `strips` of columns, and `parts` of at most `part_rows` rows.
struct TmvGrid {
    std::int64_t strips = 1, parts = 1, part_rows = 0;
    std::int64_t across = 0;  // work-items across a group, of a variant with the parameter ACROSS
};

struct TmvDetails {
    std::function<std::int64_t(const Case&)> width;  // columns of a load
    // How A is divided. Without `may_split` there is one part. Each of several parts leaves sums, which a second pass
    // adds.
    std::function<TmvGrid(const Case&, bool may_split)> grid;
    // Loads of elements of v for each row of A, and elements that all of it writes to local memory and reads from
    // there, where those that a subgroup reads at one address are one. The case's "aligned" is 1 where rows are whole
    // vectors.
    std::function<double(const Case&, const TmvGrid&)> from_global, in_local;
};
struct TmvVariant : Variant, TmvDetails {};

struct TmvArguments {
    DType dtype = DType::f32;
    std::shared_ptr<Buffer> A, v, y;
    std::int64_t rows = 0, cols = 0, stride = 0;  // of A; elements from row to row
    std::int64_t begin = 0;                       // elements before A's first in its buffer
    std::size_t aligned_to = 128;                 // alignment of A's first element, in bytes

    std::vector<std::shared_ptr<Buffer>> arrays() const { return {A, v, y}; }
};

// Throws ArrayError for more than 2^30 rows or columns, ParameterError, UnsupportedError, KernelBuildError,
// DeviceMemoryError. The caller checks that v and y fit A.
std::shared_ptr<Prepared> prepare_tmv(const TmvArguments& arguments, const std::string& variant,
                                      const Parameters& parameters);

// The same, run at once by a plan that an earlier product of the same shape may have left, and left for later ones.
void run_tmv(const TmvArguments& arguments, const std::string& variant, const Parameters& parameters);

}  // namespace gpuopt
