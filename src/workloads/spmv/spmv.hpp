// Diagonal sparse matrix-vector product, y = alpha A x + beta y (Catanzaro 2010).
#pragma once

#include "workloads/prepared.hpp"
#include "workloads/spmv/dia_matrix.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

// How a variant wants the matrix stored: slices of `slice` rows, one diagonal after the other inside a slice,
// val[(i div S)*D*S + k*S + (i mod S)]. The paper's pitched form is the single slice S = pitch.
enum class MatrixForm { exact, pitched, sliced };  // S = rows, rows rounded up to 128 bytes, parameter SLICE

// Where a variant reads x from: the caller's vector, a copy with zeros on either side, or an RGBA image.
enum class VectorHome { plain, padded, image };

struct SpmvVariant : Variant {
    MatrixForm form{};
    VectorHome home{};
};

const Workload& spmv_workload();
const SpmvVariant& spmv_variant(const std::string& name);

struct SpmvArguments {
    std::shared_ptr<DiaMatrix> matrix;
    std::shared_ptr<Buffer> x, addend, y;  // addend may be empty when beta is 0
    std::int64_t vectors = 1;              // x is (cols, vectors), y (rows, vectors), row-major
    double alpha = 1, beta = 0;
};

// The shape of the result for an x of this shape; throws ArrayError when x or beta without an addend does not fit the
// matrix.
std::vector<std::int64_t> check_spmv(const DiaMatrix& matrix, const std::vector<std::int64_t>& x_shape, double beta,
                                     bool has_addend);

// Throws ParameterError, UnsupportedError, KernelBuildError, DeviceMemoryError. Shapes were checked by check_spmv.
std::shared_ptr<Prepared> prepare_spmv(const SpmvArguments& arguments, const std::string& variant,
                                       const Parameters& parameters);

}  // namespace gpuopt
