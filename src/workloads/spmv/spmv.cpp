#include "workloads/spmv/spmv.hpp"

#include <algorithm>
#include <chrono>

namespace gpuopt {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

std::int64_t slice_of(MatrixForm form, const Case& at) {
    constexpr std::int64_t alignment = 128;  // bytes; the pitch of the paper
    switch (form) {
        case MatrixForm::exact: return at.size("rows");
        case MatrixForm::pitched: return round_up(at.size("rows"), alignment / at.element_bytes());
        case MatrixForm::sliced: break;
    }
    return at.parameter("SLICE");
}

// Compulsory traffic: every stored value and x and y once, whatever the vectors.
Work work_of(const SpmvArguments& arguments, std::int64_t stored_values) {
    const auto& matrix = *arguments.matrix;
    const auto element = double(facts(matrix.dtype()).bytes), vectors = double(arguments.vectors);
    Work work;
    work.flops = 2.0 * double(matrix.stored_entries()) * vectors;
    work.bytes["dram"] =
        element * (double(stored_values) +
                   vectors * (double(matrix.cols()) + double(matrix.rows()) * (arguments.beta == 0 ? 1 : 2)));
    return work;
}

// Builds the plan of one product. Vectors of a matrix X are taken one after the other, each packed into scratch and
// back.
class Planner {
public:
    Planner(const SpmvArguments& arguments, const SpmvVariant& variant, const Parameters& parameters)
        : arguments_(arguments),
          matrix_(*arguments.matrix),
          variant_(variant),
          session_(matrix_.session()),
          sizes_({{"rows", matrix_.rows()},
                  {"cols", matrix_.cols()},
                  {"diags", matrix_.diagonals()},
                  {"vectors", arguments.vectors}}),
          parameters_(parameters),
          case_{session_->device(), matrix_.dtype(), sizes_, parameters_},
          plan_(std::make_shared<Prepared>(session_)) {}

    std::shared_ptr<Prepared> plan() {
        check_configuration(spmv_workload(), variant_, case_);
        slice_ = slice_of(variant_.form, case_);
        values_ = matrix_.values(slice_);
        const bool columns = arguments_.vectors > 1;
        if (variant_.home == VectorHome::padded || columns) x_home_ = scratch_x();
        if (columns) {
            y_home_ = scratch(matrix_.rows(), "a column of y");
            if (arguments_.beta != 0) addend_home_ = scratch(matrix_.rows(), "a column of the addend");
        }
        for (std::int64_t column = 0; column < arguments_.vectors; ++column) {
            if (x_home_) pack(arguments_.x, column, arguments_.vectors, x_home_, x_origin_, 1, matrix_.cols());
            if (addend_home_) pack(arguments_.addend, column, arguments_.vectors, addend_home_, 0, 1, matrix_.rows());
            product();
            if (y_home_) pack(y_home_, 0, 1, arguments_.y, column, arguments_.vectors, matrix_.rows());
        }
        plan_->work = work_of(arguments_, static_cast<std::int64_t>(values_->bytes() / facts(matrix_.dtype()).bytes));
        plan_->keep(arguments_);
        return plan_;
    }

private:
    std::shared_ptr<Buffer> scratch(std::int64_t elements, const std::string& what) {
        auto buffer =
            std::make_shared<Buffer>(session_, static_cast<std::size_t>(elements) * facts(matrix_.dtype()).bytes, what);
        plan_->keep(buffer);
        return buffer;
    }

    // x between zeros: as many before as the lowest diagonal reaches back, as many behind as the last rounded-up row
    // reaches out.
    std::shared_ptr<Buffer> scratch_x() {
        if (variant_.home != VectorHome::padded) return scratch(matrix_.cols(), "a column of x");
        x_origin_ = -matrix_.min_offset();
        const auto rows = variant_.form == MatrixForm::sliced ? round_up(matrix_.rows(), slice_) : matrix_.rows();
        auto buffer = scratch(x_origin_ + std::max(matrix_.cols(), rows + matrix_.max_offset()), "padded x");
        buffer->fill(0);
        return buffer;
    }

    void pack(const std::shared_ptr<Buffer>& from, std::int64_t from_origin, std::int64_t from_stride,
              const std::shared_ptr<Buffer>& to, std::int64_t to_origin, std::int64_t to_stride, std::int64_t count) {
        const auto program = session_->build("spmv/passes/pack.cl", build_options({case_.device, case_.dtype, {}, {}}));
        plan_->add(program, "spmv_pack", launch_1d(count, 64));
        plan_->arg(from->handle()).arg(cl_long(from_origin)).arg(cl_long(from_stride));
        plan_->arg(to->handle()).arg(cl_long(to_origin)).arg(cl_long(to_stride)).arg(cl_long(count));
    }

    void index_arg(std::int64_t value) {
        if (matrix_.needs_long_index()) plan_->arg(cl_long(value));
        else plan_->arg(cl_int(value));
    }

    void product() {
        const auto& workload = spmv_workload();
        const auto options = build_options(case_) + (matrix_.needs_long_index() ? " -DINDEX=long" : " -DINDEX=int");
        plan_->main_step = plan_->steps().size();
        // A matrix without rows has no work-items; OpenCL wants the step left out, which the plan does.
        plan_->add(session_->build(workload.source_path(variant_), options), workload.entry_point(variant_),
                   matrix_.rows() == 0 ? launch_1d(0, 1) : variant_.launch(case_));
        const auto offsets = matrix_.offset_buffer();
        plan_->keep(offsets);
        plan_->keep(values_);
        const auto& x = x_home_ ? x_home_ : arguments_.x;
        const auto& y = y_home_ ? y_home_ : arguments_.y;
        const auto& addend = addend_home_ ? addend_home_ : arguments_.addend ? arguments_.addend : y;
        plan_->arg(values_->handle()).arg(cl_long(slice_));
        index_arg(matrix_.rows());
        index_arg(matrix_.cols());
        plan_->arg(cl_int(matrix_.diagonals())).arg(offsets->handle()).arg(x->handle());
        index_arg(x_origin_);
        plan_->arg(addend->handle()).arg(y->handle());
        plan_->arg(real_scalar(matrix_.dtype(), arguments_.alpha)).arg(real_scalar(matrix_.dtype(), arguments_.beta));
    }

    const SpmvArguments& arguments_;
    DiaMatrix& matrix_;
    const SpmvVariant& variant_;
    std::shared_ptr<Session> session_;
    Sizes sizes_;
    Parameters parameters_;
    Case case_;
    std::shared_ptr<Prepared> plan_;
    std::int64_t slice_ = 0, x_origin_ = 0;
    std::shared_ptr<Buffer> values_, x_home_, y_home_, addend_home_;
};

}  // namespace

std::vector<std::int64_t> check_spmv(const DiaMatrix& matrix, const std::vector<std::int64_t>& x_shape, double beta,
                                     bool has_addend) {
    if (x_shape.empty() || x_shape[0] != matrix.cols())
        throw ArrayError(
            "x",
            "its first length is " + std::to_string(x_shape.empty() ? 0 : x_shape[0]) + ", A has " +
                std::to_string(matrix.cols()) + " columns",
            "give x of shape (" + std::to_string(matrix.cols()) + ",) or (" + std::to_string(matrix.cols()) + ", k)");
    if (beta != 0 && !has_addend)
        throw ArrayError("y", "beta is not 0 and there is no addend", "give y, or leave beta at 0");
    auto shape = x_shape;
    shape[0] = matrix.rows();
    return shape;
}

std::shared_ptr<Prepared> prepare_spmv(const SpmvArguments& arguments, const std::string& variant,
                                       const Parameters& parameters) {
    const auto start = std::chrono::steady_clock::now();
    auto plan = Planner(arguments, spmv_variant(variant), parameters).plan();
    plan->prepare_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return plan;
}

}  // namespace gpuopt
