#include "workloads/spmv/dia_matrix.hpp"

#include <algorithm>
#include <numeric>

#include "workloads/prepared.hpp"

namespace gpuopt {
namespace {

// Entries of the diagonal at `offset` that lie inside a rows x cols matrix.
std::int64_t length_inside(std::int64_t offset, std::int64_t rows, std::int64_t cols) {
    return std::max<std::int64_t>(0, std::min(rows, cols - offset) - std::max<std::int64_t>(0, -offset));
}

}  // namespace

DiaMatrix::DiaMatrix(std::shared_ptr<Session> session, DType dtype, std::int64_t rows, std::int64_t cols,
                     const std::vector<std::int64_t>& offsets, const void* data, std::int64_t width, Indexed indexed)
    : session_(std::move(session)), dtype_(dtype), rows_(rows), cols_(cols) {
    if (rows < 0 || cols < 0)
        throw ArrayError("shape", "(" + std::to_string(rows) + ", " + std::to_string(cols) + ") is negative",
                         "give (rows, columns)");
    std::vector<std::size_t> order(offsets.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return offsets[a] < offsets[b]; });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (offsets[order[i]] == offsets[order[i - 1]])
            throw ArrayError("offsets", "diagonal " + std::to_string(offsets[order[i]]) + " is given twice",
                             "add their values and give it once");
    order.erase(std::remove_if(order.begin(), order.end(),
                               [&](std::size_t k) { return length_inside(offsets[k], rows, cols) == 0; }),
                order.end());
    for (const auto k : order) offsets_.push_back(offsets[k]);

    const auto row_bytes = static_cast<std::size_t>(width) * facts(dtype).bytes;
    auto raw = std::make_shared<Buffer>(session_, row_bytes * order.size(), "the matrix");
    for (std::size_t k = 0; k < order.size(); ++k)
        raw->upload(static_cast<const unsigned char*>(data) + order[k] * row_bytes, k * row_bytes, row_bytes);
    current_ = {std::max<std::int64_t>(width, 1), width, indexed == Indexed::by_column ? 1 : 0, std::move(raw)};
}

std::shared_ptr<DiaMatrix> DiaMatrix::transposed() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<DiaMatrix> result(new DiaMatrix());
    result->session_ = session_;
    result->dtype_ = dtype_;
    result->rows_ = cols_;
    result->cols_ = rows_;
    // Row-indexed values of A are column-indexed values of its transpose and the other way round: the buffer is shared.
    // Negated offsets descend; the order of diagonals in the buffer is what counts, so it stays.
    for (const auto offset : offsets_) result->offsets_.push_back(-offset);
    result->current_ = {current_.slice, current_.width, 1 - current_.shift, current_.buffer};
    return result;
}

std::shared_ptr<Buffer> DiaMatrix::values(std::int64_t slice) {
    slice = std::max<std::int64_t>(slice, 1);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (current_.packed && current_.slice == slice) return current_.buffer;
    if (auto alive = in_use_[slice].lock()) return alive;
    const auto slices = (rows_ + slice - 1) / slice;
    const auto bytes = static_cast<std::size_t>(slices * slice * diagonals()) * facts(dtype_).bytes;
    auto packed =
        std::make_shared<Buffer>(session_, bytes, "the matrix in slices of " + std::to_string(slice) + " rows");

    Prepared plan(session_);
    const auto offsets = std::make_shared<Buffer>(session_, offsets_.size() * sizeof(std::int64_t), "offsets");
    offsets->upload(offsets_.data());
    Launch launch;
    launch.dimensions = 2;
    launch.local = {64, 1, 1};
    launch.global = {static_cast<std::size_t>((slices * slice + 63) / 64 * 64), offsets_.size(), 1};
    plan.add(session_->build("spmv/passes/repack.cl", build_options({session_->device(), dtype_, {}, {}})),
             "spmv_repack", launch);
    plan.arg(current_.buffer->handle())
        .arg(cl_long(current_.slice))
        .arg(cl_long(current_.width))
        .arg(cl_long(current_.shift));
    plan.arg(packed->handle())
        .arg(cl_long(slice))
        .arg(cl_long(rows_))
        .arg(cl_long(cols_))
        .arg(cl_int(diagonals()))
        .arg(offsets->handle());
    plan.run();

    in_use_[slice] = packed;
    current_ = {slice, rows_, 0, packed, true};
    return packed;
}

std::int64_t DiaMatrix::stored_entries() const {
    return std::accumulate(
        offsets_.begin(), offsets_.end(), std::int64_t(0),
        [&](std::int64_t sum, std::int64_t offset) { return sum + length_inside(offset, rows_, cols_); });
}

std::int64_t DiaMatrix::min_offset() const {
    return offsets_.empty() ? 0 : std::min<std::int64_t>(0, *std::min_element(offsets_.begin(), offsets_.end()));
}

std::int64_t DiaMatrix::max_offset() const {
    return offsets_.empty() ? 0 : std::max<std::int64_t>(0, *std::max_element(offsets_.begin(), offsets_.end()));
}

bool DiaMatrix::needs_long_index() const { return rows_ + cols_ > (std::int64_t(1) << 30); }

std::shared_ptr<Buffer> DiaMatrix::offset_buffer() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!offset_buffer_) {
        const bool wide = needs_long_index();
        auto buffer = std::make_shared<Buffer>(session_, offsets_.size() * (wide ? 8 : 4), "offsets");
        const std::vector<std::int32_t> narrow(offsets_.begin(), offsets_.end());
        buffer->upload(wide ? static_cast<const void*>(offsets_.data()) : narrow.data());
        offset_buffer_ = std::move(buffer);
    }
    return offset_buffer_;
}

}  // namespace gpuopt
