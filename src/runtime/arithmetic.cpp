#include "runtime/arithmetic.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/fork.hpp"
#include "runtime/kernel_source.hpp"
#include "runtime/recording.hpp"
#include "runtime/trace.hpp"

namespace gpuopt {
namespace {

constexpr const char* text = "common/arithmetic.cl";
constexpr std::size_t group = 256, most_groups = 1024, part_bytes = 16;  // as in the kernels; two sums a group

template <class Value>
void set(cl::Kernel& kernel, cl_uint& next, const Value& value) {
    checked([&] { return kernel.setArg(next, value); });
    ++next;
}
void set(cl::Kernel& kernel, cl_uint& next, const Scalar& value) {
    checked([&] { return kernel.setArg(next, value.size, value.bytes); });
    ++next;
}
void set(cl::Kernel& kernel, cl_uint& next, const Buffer& buffer) {
    checked([&] { return kernel.setArg(next, buffer.handle()); });
    ++next;
}

template <class Value>
std::size_t bytes_of(const Value&) {
    return 0;
}
std::size_t bytes_of(const Buffer& buffer) { return buffer.bytes(); }

template <class Value>
Recording::Argument recorded(const Value& value) {
    return {nullptr, {reinterpret_cast<const char*>(&value), sizeof value}};
}
Recording::Argument recorded(const Scalar& value) {
    return {nullptr, {reinterpret_cast<const char*>(value.bytes), value.size}};
}
Recording::Argument recorded(const Buffer& buffer) {
    return {std::const_pointer_cast<Memory>(buffer.shared_from_this())};
}

}  // namespace

std::array<double, 2> DeviceSums::read() const {
    std::array<double, 2> sums{};
    if (doubles_) {
        std::vector<double> parts(parts_->bytes() / sizeof(double));
        parts_->download(parts.data());
        for (std::size_t i = 0; i < parts.size(); ++i) sums[i % 2] += parts[i];
        return sums;
    }
    std::vector<float> parts(parts_->bytes() / sizeof(float));
    parts_->download(parts.data());
    for (std::size_t i = 0; i < parts.size(); ++i) sums[i / 2 % 2] += double(parts[i]);
    return sums;
}

void copy_bytes(const Buffer& from, std::size_t first, std::size_t bytes, const Buffer& to, std::size_t at) {
    auto& session = *from.session();
    const auto lock = session.lock_runs();
    if (auto* const recording = Recording::now()) recording->touch(to);
    const Traced span("kernels");
    checked([&] {
        session.queue().enqueueCopyBuffer(from.handle(), to.handle(), first, at, bytes);
        return session.device().type == DeviceType::cpu ? session.queue().finish() : CL_SUCCESS;
    });
    session.fall_behind_by(2 * bytes);
}

DeviceArithmetic::DeviceArithmetic(std::shared_ptr<Session> session, DType dtype)
    : session_(std::move(session)), dtype_(dtype) {
    const auto& device = session_->device();
    if (dtype_ != DType::f32 && !(dtype_ == DType::f64 && device.fp64))
        throw UnsupportedError(
            UnsupportedError::Because::device,
            device.name + " does not compute with " + facts(dtype_).numpy_name + "; use arrays of float32");
    const std::string real = dtype_ == DType::f64 ? " -DREAL=double -DREAL_IS_DOUBLE" : "";
    options_ = std::string("-cl-std=CL1.2") + (device.fp64 ? " -DFP64" : "") + real;
    program_ = session_->build(text, options_);
}

std::size_t DeviceArithmetic::groups_of(const Buffer& extent) const {
    return std::clamp<std::size_t>((extent.bytes() / 4 + 4 * group - 1) / (4 * group), 1, most_groups);
}

// Parts of work-groups that a run does not have stay 0.
std::shared_ptr<Buffer> DeviceArithmetic::parts() const {
    refuse_fork();
    std::shared_ptr<Buffer> found;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto free =
            std::find_if(pool_.begin(), pool_.end(), [](const auto& held) { return held.use_count() == 1; });
        if (free != pool_.end()) found = *free;
        if (!found) {
            found = std::make_shared<Buffer>(session_, most_groups * part_bytes, "the sums of a reduction");
            pool_.push_back(found);
        }
    }
    run("arithmetic_fill", *found, 1, *found, cl_float(0));
    return found;
}

template <class... Values>
void DeviceArithmetic::run(const char* entry_point, const Buffer& extent, std::size_t groups,
                           const Values&... values) const {
    run_elements(entry_point, extent.bytes() / 4, groups, values...);
}

template <class... Values>
void DeviceArithmetic::run_elements(const char* entry_point, std::size_t count, std::size_t groups,
                                    const Values&... values) const {
    const auto program = kernels_may_change() ? session_->build(text, options_) : program_;
    auto kernel = checked([&] { return cl::Kernel(program->handle, entry_point); });
    const auto lock = session_->lock_runs();  // nothing moves between an argument's setting and its use
    cl_uint next = 0;
    const auto elements = cl_ulong(count);
    (set(kernel, next, values), ...);
    set(kernel, next, elements);
    auto* const recording = Recording::now();
    if (!recording) {
        enqueue(kernel, groups);
        return session_->fall_behind_by((bytes_of(values) + ...));
    }
    try {
        session_->catch_up();
        checked([&] { return session_->queue().finish(); });
        recording->launch(session_, program, entry_point, launch_1d(std::int64_t(groups * group), group),
                          {recorded(values)..., recorded(elements)});
        enqueue(kernel, groups);
        checked([&] { return session_->queue().finish(); });
        recording->end_run();  // others may write what they share before the next launch
    } catch (...) {
        recording->fail(std::current_exception());
        throw;
    }
}

void DeviceArithmetic::enqueue(const cl::Kernel& kernel, std::size_t groups) const {
    const Traced span("kernels");
    checked([&] {
        return session_->queue().enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * group),
                                                      cl::NDRange(group));
    });
    // On a CPU waiting costs nothing, and memory may be given back at once.
    if (session_->device().type == DeviceType::cpu) checked([&] { return session_->queue().finish(); });
}

void DeviceArithmetic::fill(const Buffer& x, float value) const {
    run("arithmetic_fill", x, groups_of(x), x, cl_float(value));
}

void DeviceArithmetic::combine(double a, const Buffer& x, double b, const Buffer& y, const Buffer& out) const {
    run_elements("arithmetic_combine", reals(x), groups_of(x), real_scalar(dtype_, a), x, real_scalar(dtype_, b), y,
                 out);
}

void DeviceArithmetic::shift(double a, const Buffer& x, double b, const Buffer& out) const {
    run_elements("arithmetic_shift", reals(x), groups_of(x), real_scalar(dtype_, a), x, real_scalar(dtype_, b), out);
}

void DeviceArithmetic::product(const Buffer& x, const Buffer& y, const Buffer& out) const {
    run_elements("arithmetic_product", reals(x), groups_of(x), x, y, out);
}

void DeviceArithmetic::axpy(float a, const Buffer& x, const Buffer& y, const Buffer& out) const {
    run("arithmetic_axpy", x, groups_of(x), cl_float(a), x, y, out);
}

void DeviceArithmetic::multiply(const Buffer& x, const Buffer& by) const {
    run("arithmetic_multiply", x, groups_of(x), x, by);
}

void DeviceArithmetic::reciprocal(const Buffer& x, float fraction) const {
    const auto found = std::make_shared<Buffer>(session_, most_groups * 4, "the largest elements of parts");
    const auto whole = std::make_shared<Buffer>(session_, 4, "the largest element");
    run("arithmetic_fill", *found, 1, *found, cl_float(-std::numeric_limits<float>::infinity()));
    run("arithmetic_largest", x, groups_of(x), x, *found);
    run("arithmetic_largest", *found, 1, *found, *whole);
    run("arithmetic_reciprocal", x, groups_of(x), x, *whole, cl_float(fraction));
}

void DeviceArithmetic::reciprocal(const Buffer& x, float fraction, float largest) const {
    const auto whole = std::make_shared<Buffer>(session_, 4, "the largest element");
    run("arithmetic_fill", *whole, 1, *whole, cl_float(largest));
    run("arithmetic_reciprocal", x, groups_of(x), x, *whole, cl_float(fraction));
}

DeviceSums DeviceArithmetic::residual(const Buffer& b, const Buffer& ax, const Buffer& weights) const {
    auto found = parts();
    run("arithmetic_residual", b, groups_of(b), b, ax, weights, *found);
    return {std::move(found), session_->device().fp64};
}

void DeviceArithmetic::update(const Buffer& x, float step, const Buffer& weights, const Buffer& g, float low,
                              float high, float rounding, const Buffer* mask, const Buffer& out) const {
    run("arithmetic_update", x, groups_of(x), x, cl_float(step), weights, g, cl_float(low), cl_float(high),
        cl_float(rounding), mask ? *mask : x, cl_int(mask != nullptr), out);
}

float DeviceArithmetic::largest(const Buffer& x) const {
    const auto found = std::make_shared<Buffer>(session_, groups_of(x) * 4, "the largest elements of parts");
    run("arithmetic_largest", x, groups_of(x), x, *found);
    std::vector<float> parts(found->bytes() / 4);
    found->download(parts.data());
    return *std::max_element(parts.begin(), parts.end());
}

double DeviceArithmetic::dot(const Buffer& x, const Buffer& y) const {
    const auto found = parts();
    run_elements("arithmetic_dot", reals(x), groups_of(x), x, y, *found);
    return DeviceSums(found, session_->device().fp64).read()[0];
}

std::size_t DeviceArithmetic::not_finite(const Buffer& x) const {
    const auto found = parts();
    run("arithmetic_not_finite", x, groups_of(x), x, *found);
    return static_cast<std::size_t>(DeviceSums(found, session_->device().fp64).read()[0]);
}

void DeviceArithmetic::finish() const {
    const auto lock = session_->lock_runs();
    session_->catch_up();
    checked([&] { return session_->queue().finish(); });
}

}  // namespace gpuopt
