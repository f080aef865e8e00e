#include "workloads/spmv/spmv.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/device_array.hpp"
#include "runtime/image.hpp"
#include "runtime/interrupt.hpp"
#include "workloads/kept_plans.hpp"
#include "workloads/plan_builder.hpp"

namespace gpuopt {
namespace {

std::int64_t slice_of(MatrixForm form, const Case& at) {
    constexpr std::int64_t alignment = 128;  // bytes; the pitch of the paper
    if (form == MatrixForm::exact) return at.size("rows");
    if (form == MatrixForm::sliced && at.parameter_or("SLICE", 0) > 0) return at.parameter("SLICE");
    return round_up(at.size("rows"), std::max(alignment / at.element_bytes(), at.parameter_or("BLOCK", 0)));
}

Sizes sizes_of(const SpmvArguments& arguments) {
    const auto& matrix = *arguments.matrix;
    return {{"rows", matrix.rows()},
            {"cols", matrix.cols()},
            {"diags", matrix.diagonals()},
            {"vectors", arguments.vectors},
            {"grid", matrix.grid_width()}};
}

// A scaled sum is multiplied by alpha / scale. Where the type has no such number but has alpha, values are not rounded.
Parameters with_room(const SpmvArguments& arguments, Parameters parameters) {
    const auto half = parameters.find("HALF");
    if (half == parameters.end() || half->second == 0 || arguments.alpha == 0 || !std::isfinite(arguments.alpha))
        return parameters;
    auto& matrix = *arguments.matrix;
    const auto factor = std::abs(arguments.alpha / matrix.scale_of_halves());
    const bool wide = matrix.dtype() == DType::f64;
    const double least = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
    const double most = wide ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    if (factor < least || factor > most) half->second = 0;
    return parameters;
}

constexpr std::int64_t most_turns = 1 << 16;  // of a plan; each holds kernel objects

// Builds the plan of one product. A variant that takes one vector at a time gets the columns of x one after the other,
// each packed into scratch and back.
class Planner : PlanBuilder {
public:
    Planner(const SpmvArguments& arguments, const SpmvVariant& variant, const Parameters& parameters)
        : PlanBuilder(arguments.matrix->session(), spmv_workload(), variant, arguments.matrix->dtype(),
                      sizes_of(arguments), with_room(arguments, parameters)),
          arguments_(arguments),
          matrix_(*arguments.matrix),
          variant_(variant),
          bands_(bands_of(matrix_.offsets(), matrix_.grid_width())) {
        sizes_["bands"] = static_cast<std::int64_t>(bands_.size());
        auto &across = sizes_["reach_x"], &down = sizes_["reach_y"];
        for (const auto& band : bands_) {
            across = std::max({across, -band.dx, band.dx + band.count - 1});
            down = std::max({down, -band.dy, band.dy});
        }
    }

    std::shared_ptr<Prepared> plan() {
        check();
        if (variant_.upper_only && !matrix_.symmetric())
            throw UnsupportedError(UnsupportedError::Because::constraint,
                                   "spmv " + variant_.name + ": A is not symmetric");
        const bool half = case_.parameter_or("HALF", 0) == 1;
        slice_ = slice_of(variant_.form, case_);
        values_ = matrix_.values({slice_, variant_.upper_only, half, variant_.form == MatrixForm::unpacked});
        // A grid that does not show is one line.
        if (sizes_["grid"] == 0) sizes_["grid"] = std::max<std::int64_t>(matrix_.rows(), 1);

        const bool one_by_one = arguments_.vectors > 1 && !variant_.all_columns;  // no columns at all: no steps
        if (variant_.home == VectorHome::padded || one_by_one || !arguments_.x) make_x_home(one_by_one);
        if (variant_.home == VectorHome::image) make_image();
        if (one_by_one || (variant_.sums_in_y && arguments_.beta != 0)) {
            y_home_ = scratch(matrix_.rows(), "a column of y");
            if (one_by_one && arguments_.beta != 0) addend_home_ = scratch(matrix_.rows(), "a column of the addend");
        }
        const auto turns = one_by_one ? arguments_.vectors : std::min<std::int64_t>(arguments_.vectors, 1);
        if (turns > most_turns)
            throw UnsupportedError(
                UnsupportedError::Because::constraint,
                "spmv " + variant_.name + ": x has " + std::to_string(turns) +
                    " columns, which it takes one after the other, launches for each; take at most " +
                    std::to_string(most_turns) + ", or another variant");
        for (std::int64_t column = 0; column < turns; ++column) {
            if (x_home_ && arguments_.x) pack(arguments_.x, column, turns, x_home_, x_origin_, 1, matrix_.cols());
            if (addend_home_) pack(arguments_.addend, column, turns, addend_home_, 0, 1, matrix_.rows());
            if (image_) fill_image();
            product();
            if (y_home_) pack(y_home_, 0, 1, arguments_.y, column, turns, matrix_.rows());
        }
        plan_->work = work();
        plan_->keep_arrays(arguments_.arrays());
        return plan_;
    }

    // Where x is expected when the arguments held none: its buffer, and the elements before it there.
    const std::shared_ptr<Buffer>& x_target() const { return whole_x_ ? whole_x_ : x_home_; }
    std::int64_t x_origin() const { return whole_x_ ? 0 : x_origin_; }
    cl_uint x_argument() const { return x_argument_; }  // of the product's kernel
    cl_uint y_argument() const { return y_argument_; }

private:
    // x, or one column of it, where the kernel wants it. Padded: as many zeros before as the lowest diagonal reaches
    // back, as many behind as the last rounded-up row reaches out.
    void make_x_home(bool one_by_one) {
        if (!arguments_.x && one_by_one) {  // the caller's columns come first, then one of them
            whole_x_ = scratch(matrix_.cols() * arguments_.vectors, "x");
            arguments_.x = whole_x_;
        }
        if (variant_.home != VectorHome::padded) {
            x_home_ = scratch(matrix_.cols() * (one_by_one ? 1 : arguments_.vectors), "x");
            return;
        }
        x_origin_ = -matrix_.min_offset();
        const auto rows = round_up(matrix_.rows(), std::max<std::int64_t>(slice_, 1));
        x_home_ = scratch(x_origin_ + std::max(matrix_.cols(), rows + matrix_.max_offset()), "padded x");
        x_home_->fill(0);
    }

    void make_image() {
        const auto pixels = std::max<std::int64_t>(quotient_up(matrix_.cols(), 4), 1);
        log_width_ = 0;
        while ((std::int64_t(1) << log_width_) * (std::int64_t(1) << log_width_) < pixels) ++log_width_;
        image_width_ = std::int64_t(1) << log_width_;
        image_height_ = quotient_up(pixels, image_width_);
        image_ = std::make_shared<Image2D>(session_, static_cast<std::size_t>(image_width_),
                                           static_cast<std::size_t>(image_height_), "x");
        plan_->keep(image_);
    }

    void fill_image() {
        const auto pixels = image_width_ * image_height_;
        copied_bytes_ += double(matrix_.cols() * case_.element_bytes() + pixels * 16);
        add_pass("to_image", options(), launch_1d(pixels, 64))
            .arg(x_home_ ? x_home_ : arguments_.x)
            .arg(cl_long(matrix_.cols()))
            .arg(image_)
            .arg(cl_int(log_width_))
            .arg(cl_long(pixels));
    }

    void pack(const std::shared_ptr<Buffer>& from, std::int64_t from_origin, std::int64_t from_stride,
              const std::shared_ptr<Buffer>& to, std::int64_t to_origin, std::int64_t to_stride, std::int64_t count) {
        copied_bytes_ += 2.0 * double(count * case_.element_bytes());
        add_pass("pack", options(), launch_1d(count, 64));
        plan_->arg(from);
        longs({from_origin, from_stride});
        plan_->arg(to);
        longs({to_origin, to_stride, count});
    }

    void index_arg(std::int64_t value) {
        if (matrix_.needs_long_index()) plan_->arg(cl_long(value));
        else plan_->arg(cl_int(value));
    }

    std::string product_options() const {
        auto text = options(parameters_) + (matrix_.needs_long_index() ? " -DINDEX=long" : " -DINDEX=int");
        // The kernel of this form multiplies diagonal and rows, by int as the paper where the product fits.
        if (variant_.form == MatrixForm::exact &&
            slice_ * matrix_.diagonals() > std::numeric_limits<std::int32_t>::max())
            text += " -DPLACE=long";
        if (!variant_.bands) return text;
        text += " -DFIRST_OFFSET=" + std::to_string(matrix_.min_offset()) +
                " -DLAST_OFFSET=" + std::to_string(matrix_.max_offset()) +
                " -DREACH_X=" + std::to_string(sizes_.at("reach_x")) +
                " -DREACH_Y=" + std::to_string(sizes_.at("reach_y")) + " -DBANDS=";
        for (const auto& band : bands_)
            text += "BAND(" + std::to_string(band.first) + "," + std::to_string(band.count) + "," +
                    std::to_string(band.dx) + "," + std::to_string(band.dy) + ")";
        return text;
    }

    void product() {
        // A matrix without rows has no work-items; OpenCL wants the step left out, which the plan does.
        add_variant(product_options(), matrix_.rows() == 0 ? launch_1d(0, 1) : variant_.launch(case_), true);
        plan_->keep(values_);
        plan_->source = values_->values;
        const auto& y = y_home_ ? y_home_ : arguments_.y;
        const auto& addend = addend_home_ ? addend_home_ : arguments_.addend ? arguments_.addend : y;
        plan_->arg(values_->values).arg(cl_long(slice_));
        index_arg(matrix_.rows());
        index_arg(matrix_.cols());
        plan_->arg(cl_int(values_->diagonals())).arg(values_->offsets);
        x_argument_ = plan_->next_argument();
        if (image_) plan_->arg(image_);
        else plan_->arg(x_home_ ? x_home_ : arguments_.x);
        index_arg(image_ ? log_width_ : x_origin_);
        index_arg(sizes_.at("grid"));
        plan_->arg(cl_int(arguments_.vectors)).arg(addend);
        y_argument_ = plan_->next_argument();
        plan_->arg(y);
        plan_->arg(real_scalar(matrix_.dtype(), arguments_.alpha / values_->scale))
            .arg(real_scalar(matrix_.dtype(), arguments_.beta));
        if (values_->places) plan_->arg(values_->places);
    }

    // Compulsory traffic: the entries inside the matrix in their stored form, what they are multiplied by of x, and y,
    // each once, whatever the vectors: what lies outside is padding, and a cache may serve what is read again.
    Work work() const {
        const SpmvShape shape{case_, matrix_.offsets(), bands_, matrix_.needs_long_index() ? 8 : 4};
        const auto rows = double(matrix_.rows()), vectors = double(arguments_.vectors);
        const auto results = shape.element() * vectors * rows * (arguments_.beta == 0 ? 1 : 2);
        auto stored = double(matrix_.stored_entries());
        if (variant_.upper_only) {
            const auto main = std::count(matrix_.offsets().begin(), matrix_.offsets().end(), 0);
            stored = (stored + double(main) * rows) / 2;
        }
        const auto once = std::min(vectors, 1.0);
        Work work;
        work.flops = 2.0 * double(matrix_.stored_entries()) * vectors;
        work.bytes["dram"] = once * shape.value() * stored + vectors * shape.element() * shape.columns_used() + results;
        const auto asked = variant_.traffic(shape);
        const auto turns = variant_.all_columns ? once : vectors;
        work.bytes["requested"] = turns * asked.global + results + copied_bytes_;
        if (asked.local > 0) work.bytes["local"] = turns * asked.local;
        if (asked.fetches > 0) work.special["fetch"] = turns * asked.fetches;
        return work;
    }

    SpmvArguments arguments_;
    DiaMatrix& matrix_;
    const SpmvVariant& variant_;
    std::vector<Band> bands_;
    cl_uint x_argument_ = 0, y_argument_ = 0;
    std::int64_t slice_ = 0, x_origin_ = 0, log_width_ = 0, image_width_ = 0, image_height_ = 0;
    double copied_bytes_ = 0;  // read and written by passes
    std::shared_ptr<const StoredValues> values_;
    std::shared_ptr<Buffer> x_home_, y_home_, addend_home_, whole_x_;
    std::shared_ptr<Image2D> image_;
};

}  // namespace

std::vector<Band> bands_of(const std::vector<std::int64_t>& offsets, std::int64_t width) {
    constexpr std::int64_t longest = 16;  // elements of x that a work-item keeps
    std::vector<Band> bands;
    for (const auto offset : offsets) {
        const auto dy = width > 0 ? (offset >= 0 ? (offset + width / 2) / width : -((-offset + width / 2) / width)) : 0;
        const auto dx = offset - dy * width;
        if (!bands.empty()) {
            auto& last = bands.back();
            if (last.first + last.count == offset && last.dy == dy && last.count < longest) {
                ++last.count;
                continue;
            }
        }
        bands.push_back({offset, 1, dx, dy});
    }
    return bands;
}

std::vector<std::int64_t> check_spmv(const DiaMatrix& matrix, const std::vector<std::int64_t>& x_shape, double beta,
                                     bool has_addend) {
    if (x_shape.empty() || x_shape[0] != matrix.cols())
        throw ArrayError(
            "x",
            "its first length is " + std::to_string(x_shape.empty() ? 0 : x_shape[0]) + ", A has " +
                std::to_string(matrix.cols()) + " columns",
            "give x of shape (" + std::to_string(matrix.cols()) + ",) or (" + std::to_string(matrix.cols()) + ", k)");
    constexpr std::int64_t most_columns = (std::int64_t(1) << 31) - 16;  // kernels add a vector's width in 32 bits
    if (x_shape.size() > 1 && x_shape[1] > most_columns)
        throw ArrayError("x", "it has " + std::to_string(x_shape[1]) + " columns",
                         "give at most " + std::to_string(most_columns) + " at once");
    if (beta != 0 && !has_addend)
        throw ArrayError("y", "beta is not 0 and there is no addend", "give y, or leave beta at 0");
    auto shape = x_shape;
    shape[0] = matrix.rows();
    return shape;
}

std::shared_ptr<Prepared> prepare_spmv(const SpmvArguments& arguments, const std::string& variant,
                                       const Parameters& parameters) {
    return Planner(arguments, row_of<SpmvVariant>(spmv_workload(), variant), parameters).plan();
}

void run_spmv(const SpmvArguments& arguments, const std::string& variant, const Parameters& parameters) {
    const auto arrays = arguments.arrays();
    PlanKey key(variant, parameters);
    key.add(arguments.vectors).add(arguments.alpha).add(arguments.beta).add(arrays);
    run_kept(*arguments.matrix->session(), arguments.matrix->plans(), key, arrays,
             [&] { return prepare_spmv(arguments, variant, parameters); });
}

HostProduct::HostProduct(const std::shared_ptr<DiaMatrix>& matrix, std::int64_t vectors, double alpha, double beta,
                         const std::string& variant, const Parameters& parameters)
    : rows_(matrix->rows()), cols_(matrix->cols()), vectors_(vectors), dtype_(matrix->dtype()), beta_(beta) {
    check_spmv(*matrix, {cols_, vectors}, beta, beta != 0);  // before there are buffers
    const auto bytes = facts(dtype_).bytes * static_cast<std::size_t>(vectors);
    const auto& session = matrix->session();
    y_ = std::make_shared<Buffer>(session, DeviceArray::bytes_of(dtype_, {rows_, vectors}, "the result"), "the result");
    if (beta != 0) addend_ = std::make_shared<Buffer>(session, static_cast<std::size_t>(rows_) * bytes, "y");
    const auto& row = row_of<SpmvVariant>(spmv_workload(), variant);
    Planner planner({matrix, nullptr, addend_, y_, vectors, alpha, beta}, row, parameters);
    plan_ = planner.plan();
    x_ = planner.x_target();
    x_at_ = static_cast<std::size_t>(planner.x_origin()) * facts(dtype_).bytes;
    x_argument_ = planner.x_argument();
    y_argument_ = planner.y_argument();
    in_place_ = session->device().type == DeviceType::cpu && plan_->steps().size() == 1 && beta == 0 &&
                row.home == VectorHome::plain && x_bytes() > 0 && y_bytes() > 0;
}

std::size_t HostProduct::x_bytes() const { return static_cast<std::size_t>(cols_ * vectors_) * facts(dtype_).bytes; }
std::size_t HostProduct::y_bytes() const { return static_cast<std::size_t>(rows_ * vectors_) * facts(dtype_).bytes; }

// Memory that does not begin where the device's buffers do is no use: kernels store aligned vectors, and a driver may
// make a hidden copy of it (Intel's does, at 4 ms for 8 MB, 2026-11).
bool HostProduct::can_borrow(const void* memory) const {
    return in_place_ && reinterpret_cast<std::uintptr_t>(memory) % session()->device().base_align_bytes == 0;
}

void HostProduct::multiply(const void* x, const void* addend, void* y) {
    session()->require_own_process();
    const auto lock = mutex_.lock();
    const auto* const x_begin = static_cast<const unsigned char*>(x);
    const auto* const y_begin = static_cast<const unsigned char*>(y);
    const bool apart = x_begin + x_bytes() <= y_begin || y_begin + y_bytes() <= x_begin;
    const auto from = can_borrow(x) && apart ? Buffer::borrowed(session(), x, x_bytes()) : nullptr;
    const auto to = can_borrow(y) && apart ? Buffer::borrowed(session(), y, y_bytes()) : nullptr;
    if (in_place_) {
        plan_->rebind(0, x_argument_, from ? from : x_);
        plan_->rebind(0, y_argument_, to ? to : y_);
    }
    if (!from) x_->upload(x, x_at_, x_bytes());
    if (addend_) addend_->upload(addend);
    plan_->run();
    if (to) to->settle();
    else y_->download(y);
}

}  // namespace gpuopt
