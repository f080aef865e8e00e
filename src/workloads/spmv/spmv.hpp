// Diagonal sparse matrix-vector product, y = alpha A x + beta y (Catanzaro 2010).
#pragma once

#include "runtime/interrupt.hpp"
#include "workloads/prepared.hpp"
#include "workloads/spmv/dia_matrix.hpp"
#include "workloads/spmv/traffic.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

// How a variant wants the matrix stored: slices of `slice` rows, one diagonal after the other inside a slice. The
// paper's pitched form is the single slice S = pitch.
enum class MatrixForm {
    exact,    // one slice of all rows
    pitched,  // one slice of all rows, rounded up to 128 bytes
    sliced,   // slices of the parameter SLICE; pitched where it is 0
    unpacked  // as it was given
};

// Where a variant reads x from: the caller's vector, a copy with zeros on either side, or an RGBA image.
enum class VectorHome { plain, padded, image };

struct SpmvDetails {
    MatrixForm form{};
    VectorHome home = VectorHome::plain;
    // What a product asks memories for: of one vector, or where `all_columns` of all.
    std::function<SpmvTraffic(const SpmvShape&)> traffic;
    bool upper_only = false;   // reads the upper diagonals of a symmetric matrix alone
    bool bands = false;        // is built with the matrix's diagonals as constants, -DBANDS=...
    bool all_columns = false;  // takes the columns of x all at once; others take them one by one
    bool sums_in_y = false;    // y holds partial sums while the kernel runs
};
struct SpmvVariant : Variant, SpmvDetails {};

std::vector<Band> bands_of(const std::vector<std::int64_t>& offsets, std::int64_t width);

struct SpmvArguments {
    std::shared_ptr<DiaMatrix> matrix;
    std::shared_ptr<Buffer> x, addend, y;  // x may be empty for a HostProduct, addend when beta is 0
    std::int64_t vectors = 1;              // x is (cols, vectors), y (rows, vectors), row-major
    double alpha = 1, beta = 0;

    std::vector<std::shared_ptr<Buffer>> arrays() const { return {x, addend, y}; }
};

// The shape of the result for an x of this shape; throws ArrayError when x or beta without an addend does not fit the
// matrix.
std::vector<std::int64_t> check_spmv(const DiaMatrix& matrix, const std::vector<std::int64_t>& x_shape, double beta,
                                     bool has_addend);

// Throws ParameterError, UnsupportedError, KernelBuildError, DeviceMemoryError. Shapes were checked by check_spmv.
std::shared_ptr<Prepared> prepare_spmv(const SpmvArguments& arguments, const std::string& variant,
                                       const Parameters& parameters);

// The same, run at once by a plan that an earlier product of the same kind may have left, and left for later ones.
void run_spmv(const SpmvArguments& arguments, const std::string& variant, const Parameters& parameters);

// A product of vectors in host memory, planned once and run by one thread at a time: upload, run, download. x goes
// straight to where the kernel wants it; on a CPU the kernel reads and writes the caller's vectors themselves where
// they are aligned. It does not keep the matrix, only its values.
class HostProduct {
public:
    HostProduct(const std::shared_ptr<DiaMatrix>& matrix, std::int64_t vectors, double alpha, double beta,
                const std::string& variant, const Parameters& parameters);
    void multiply(const void* x, const void* addend, void* y);  // addend is not read when beta is 0

    std::int64_t vectors() const { return vectors_; }
    double beta() const { return beta_; }
    DType dtype() const { return dtype_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t cols() const { return cols_; }
    const std::shared_ptr<Session>& session() const { return plan_->session(); }

private:
    std::size_t x_bytes() const;
    std::size_t y_bytes() const;
    bool can_borrow(const void* memory) const;

    PatientMutex mutex_;
    std::int64_t rows_, cols_, vectors_;
    DType dtype_;
    double beta_;
    std::shared_ptr<Buffer> x_, addend_, y_;
    std::size_t x_at_ = 0;  // bytes before the first element of x
    cl_uint x_argument_ = 0, y_argument_ = 0;
    bool in_place_ = false;  // nothing stands between the caller's vectors and the product
    std::shared_ptr<Prepared> plan_;
};

}  // namespace gpuopt
