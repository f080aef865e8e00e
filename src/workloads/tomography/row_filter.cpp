#include "workloads/tomography/row_filter.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/interrupt.hpp"

namespace gpuopt {
namespace {

constexpr std::int64_t gap_after = 32;  // as in the kernel

std::size_t plane_bytes(std::int64_t length, bool spread) {
    return static_cast<std::size_t>(length + (spread ? length / gap_after : 0)) * 4;
}

// The shape of a length 2^k or 3 2^k; the length 0 where the device cannot hold it.
TransformShape shape_of(const Device& device, std::int64_t length) {
    TransformShape shape;
    const bool by_three = length % 3 == 0;
    shape.each = by_three ? 24 : 16;
    const std::int64_t radix = by_three ? 8 : 16;
    auto rest = length;
    for (; rest % radix == 0 && rest >= radix; rest /= radix) shape.radices.push_back(radix);
    if (rest > 1) shape.radices.push_back(rest);
    const auto room = static_cast<std::size_t>(device.local_bytes);
    shape.in_turn = 2 * plane_bytes(length, true) > room;
    shape.spread = !shape.in_turn || plane_bytes(length, true) <= room;
    if (plane_bytes(length, shape.spread) <= room &&
        static_cast<std::size_t>(length / shape.each) <= device.max_work_group_size && shape.radices.size() <= 5)
        shape.length = length;
    return shape;
}

// exp(-2 pi i q j / (before radix)) of every pass but the first, by q from 1 on, then by j.
std::vector<float> roots_of(const TransformShape& shape) {
    std::vector<float> roots(2);  // never empty
    roots.clear();
    auto before = shape.radices[0];
    for (std::size_t pass = 1; pass < shape.radices.size(); ++pass) {
        const auto radix = shape.radices[pass];
        for (std::int64_t q = 1; q < radix; ++q)
            for (std::int64_t j = 0; j < before; ++j) {
                const auto angle = -2 * std::acos(-1.0) * double(q * j) / double(before * radix);
                roots.push_back(static_cast<float>(std::cos(angle)));
                roots.push_back(static_cast<float>(std::sin(angle)));
            }
        before *= radix;
    }
    if (roots.empty()) roots.assign(2, 1.0F);
    return roots;
}

constexpr std::int64_t least_items = 128;  // of a work-group on a GPU, which takes several short pairs of rows

std::int64_t pairs_at_once(const Device& device, const TransformShape& shape) {
    if (device.type == DeviceType::cpu) return 1;
    const auto items = shape.length / shape.each;
    const auto bytes = plane_bytes(shape.length, shape.spread) * (shape.in_turn ? 1 : 2);
    const auto fit = static_cast<std::int64_t>(static_cast<std::size_t>(device.local_bytes) / bytes);
    const auto most = static_cast<std::int64_t>(device.max_work_group_size) / items;
    return std::max<std::int64_t>(1, std::min({least_items / items, fit, most}));
}

std::string options_of(const TransformShape& shape, std::int64_t pairs) {
    auto text = "-cl-std=CL1.2 -DN=" + std::to_string(shape.length) + " -DE=" + std::to_string(shape.each) +
                " -DPAIRS=" + std::to_string(pairs) + " -DPASSES=" + std::to_string(shape.radices.size()) +
                " -DIN_TURN=" + std::to_string(shape.in_turn) + " -DSPREAD=" + std::to_string(shape.spread);
    for (std::size_t pass = 0; pass < shape.radices.size(); ++pass)
        text += " -DRADIX" + std::to_string(pass) + "=" + std::to_string(shape.radices[pass]);
    return text;
}

// Steps of an array (n or 1, m or 1) along its axes.
std::array<std::int64_t, 2> steps_of(const DeviceArray& array) {
    const auto columns = array.shape.at(1);
    return {array.shape.at(0) > 1 ? columns : 0, columns > 1 ? 1 : 0};
}

}  // namespace

TransformShape transform_shape(const Device& device, std::int64_t least) {
    constexpr std::int64_t longest = std::int64_t(1) << 20;
    // Lengths of 2^k first: with 3072 elements a work-item holds 24 complex numbers, which takes half as long again as
    // 4096 with 16 of them (19.2 and 13.3 ms for 476,160 rows of 1248 columns, H200, 2026-11-24).
    for (const std::int64_t factor : {2, 3})
        for (std::int64_t half = 8; half < longest; half *= 2)
            if (factor * half >= least)
                if (auto shape = shape_of(device, factor * half); shape.length > 0) return shape;
    return {};
}

RowFilter::RowFilter(const DeviceArray& weights, const DeviceArray& slants, const DeviceArray& response,
                     const RowFilterShape& shape)
    : shape_(shape), plan_(std::make_shared<Prepared>(response.buffer->session())) {
    const auto& session = plan_->session();
    const auto length = response.shape.at(0);
    const auto transform = transform_shape(session->device(), length);
    if (transform.length != length)
        throw UnsupportedError(UnsupportedError::Because::device, "response: " + session->device().name +
                                                                      " has no transform of " + std::to_string(length) +
                                                                      " elements; filter the rows on the host");
    const auto pairs = pairs_at_once(session->device(), transform);
    const auto roots = roots_of(transform);
    const auto table = std::make_shared<Buffer>(session, roots.size() * 4, "the roots of unity");
    table->upload(roots.data());
    plan_->keep(std::vector<std::shared_ptr<Buffer>>{weights.buffer, slants.buffer, response.buffer, table});

    const auto items = transform.length / transform.each * pairs;
    const auto groups = (shape.count() + 2 * pairs - 1) / (2 * pairs);
    plan_->add(session->build("tomography/passes/filter.cl", options_of(transform, pairs)), "tomography_filter",
               launch_1d(groups * items, items));
    // The first three are set by each start.
    plan_->arg(weights.buffer).arg(weights.buffer).arg(weights.buffer);
    plan_->arg(weights.buffer).arg(slants.buffer).arg(response.buffer).arg(table);
    for (const auto n : {shape.rows, shape.columns, shape.wide(), shape.lead}) plan_->arg(cl_int(n));
    const auto row_step = shape.columns, view_step = shape.rows * shape.columns;
    const auto origin =
        (shape.rows_reversed ? (shape.rows - 1) * row_step : 0) + (shape.columns_reversed ? shape.columns - 1 : 0);
    plan_->arg(cl_long(shape.count())).arg(cl_long(origin)).arg(cl_long(view_step));
    plan_->arg(cl_long(shape.rows_reversed ? -row_step : row_step)).arg(cl_int(shape.columns_reversed ? -1 : 1));
    for (const auto step : steps_of(weights)) plan_->arg(cl_int(step));
    for (const auto step : steps_of(slants)) plan_->arg(cl_int(step));
}

DeviceArray RowFilter::start(const std::shared_ptr<Buffer>& projections, const std::shared_ptr<Buffer>& out) {
    auto facts = DeviceArray::empty(session(), DType::f32, {shape_.count(), 4}, "what a filter found of the rows");
    const auto lock = mutex_.lock();
    plan_->rebind(0, 0, projections);
    plan_->rebind(0, 1, out);
    plan_->rebind(0, 2, facts.buffer);
    plan_->start();
    return facts;
}

}  // namespace gpuopt
