// Dense matrix product, D = alpha op(A) op(B) + beta C of row-major matrices, one or a batch (Jang 2009; Yang 2012).
#pragma once

#include <optional>

#include "workloads/prepared.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

class GemmPlanner;

// Case sizes: "M", "N", "K", "batch", and 1 or 0 for "addend" (beta is not 0), "transpose_a" and "transpose_b".
struct GemmDetails {
    // Bytes by memory class that one product of a batch moves; without "dram" and what "requested" has of the result,
    // which every variant has in common.
    std::function<std::map<std::string, double>(const Case&)> bytes;
    // Adds the steps of a product to the plan. Empty: the plan is one launch of the variant's kernel. A variant that
    // prepares its operands has a builder, in a source file of its own.
    std::function<void(GemmPlanner&)> build{};
    std::function<std::map<std::string, double>(const Case&)> special{};  // of one product, see Work::special
    bool wide = true;  // whether its kernel is built with ALIGNED_A, ALIGNED_B and ALIGNED_D
    std::function<std::string(const Case&)> options{};  // more build options of its kernel
    bool looks_back = false;  // at its operands after a run, which may show that the result is none
};
struct GemmVariant : Variant, GemmDetails {};

// Variants with builders of their own.
GemmVariant gemm_packed();
GemmVariant gemm_register_tile();
GemmVariant gemm_tensor();
GemmVariant gemm_thin();
GemmVariant gemm_vector();

// A row-major matrix, or one for each product of a batch. Distances in elements.
struct GemmMatrix {
    std::shared_ptr<Buffer> buffer;
    std::int64_t ld = 0;     // distance between rows
    std::int64_t batch = 0;  // distance between matrices; 0: all products share one
    std::int64_t from = 0;   // elements of the buffer before the first
};

struct GemmArguments {
    DType dtype = DType::f32;
    GemmMatrix a, b, c, d;  // c has no buffer when beta is 0
    std::int64_t m = 0, n = 0, k = 0, batch = 1;
    bool transpose_a = false, transpose_b = false;
    double alpha = 1, beta = 0;

    std::vector<std::shared_ptr<Buffer>> arrays() const { return {a.buffer, b.buffer, c.buffer, d.buffer}; }
};

struct GemmShape {
    std::int64_t m = 0, n = 0, k = 0, batch = 1;
    std::vector<std::int64_t> result;  // (M, N), or (batch, M, N) where A or B has three dimensions
};

// The sizes of a product of arrays of these shapes. Throws ArrayError where they do not agree.
GemmShape check_gemm(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                     const std::optional<std::vector<std::int64_t>>& c, bool transpose_a, bool transpose_b,
                     double beta);

// Throws ParameterError, UnsupportedError, KernelBuildError, DeviceMemoryError. Without products (M, N or K of 0, or
// alpha of 0, when A and B are not read) no kernel of the variant is built or run.
std::shared_ptr<Prepared> prepare_gemm(const std::shared_ptr<Session>& session, const GemmArguments& arguments,
                                       const std::string& variant, const Parameters& parameters);

// A variant and its parameters.
using GemmWay = std::pair<std::string, Parameters>;
// The same by the first of these ways; where it looks back at its operands and finds that its result is none, a run
// goes on with the next one.
std::shared_ptr<Prepared> prepare_gemm(const std::shared_ptr<Session>& session, const GemmArguments& arguments,
                                       const std::vector<GemmWay>& ways);

// The same, run at once by a plan that an earlier call of the same shapes and numbers may have left, and left for later
// ones.
void run_gemm(const std::shared_ptr<Session>& session, const GemmArguments& arguments, const std::string& variant,
              const Parameters& parameters, bool wait = true);
// Whether a run of the variant need not be waited for at once.
bool may_run_beside(const std::string& variant);

}  // namespace gpuopt
