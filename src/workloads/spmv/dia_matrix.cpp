#include "workloads/spmv/dia_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/device_array.hpp"
#include "runtime/interrupt.hpp"
#include "workloads/prepared.hpp"
#include "workloads/spmv/traffic.hpp"

namespace gpuopt {
namespace {

constexpr auto most_groups = std::size_t(most_groups_yz);  // the rest by `more_of`
constexpr auto most_rows = std::int64_t(1) << 40;          // sums of places and offsets keep far away from 63 bits

template <class Value>
std::shared_ptr<Buffer> uploaded(const std::shared_ptr<Session>& session, const std::vector<Value>& list,
                                 const char* what) {
    auto buffer = std::make_shared<Buffer>(session, list.size() * sizeof(Value), what);
    buffer->upload(list.data());
    return buffer;
}

std::int64_t place_of(const std::vector<std::int64_t>& list, std::int64_t value) {
    const auto found = std::find(list.begin(), list.end(), value);
    return found == list.end() ? -1 : found - list.begin();
}

// What has kernels go on to what is beyond the groups of a launch.
std::string more_of(std::size_t slices, std::size_t diagonals) {
    return slices > most_groups || diagonals > most_groups ? " -DMANY=1" : "";
}

Launch over_entries(std::int64_t rows, std::size_t diagonals) {
    auto launch = launch_1d(rows, 64);
    launch.dimensions = 2;
    launch.global[1] = std::min(diagonals, most_groups);
    return launch;
}

}  // namespace

DiaMatrix::DiaMatrix(std::shared_ptr<Session> session, DType dtype, std::int64_t rows, std::int64_t cols,
                     const std::vector<std::int64_t>& offsets, const void* data, std::int64_t width, Indexed indexed,
                     std::shared_ptr<Buffer> in_place, std::int64_t begin)
    : session_(std::move(session)), dtype_(dtype), rows_(rows), cols_(cols) {
    const auto given = "(" + std::to_string(rows) + ", " + std::to_string(cols) + ")";
    if (rows < 0 || cols < 0) throw ArrayError("shape", given + " is negative", "give (rows, columns)");
    if (rows > most_rows || cols > most_rows)
        throw ArrayError("shape", given + " is larger than any memory", "give at most 2^40 rows and columns");
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
    std::int64_t entries = 0;
    for (const auto offset : offsets_)
        if (__builtin_add_overflow(entries, length_inside(offset, rows, cols), &entries))
            throw ArrayError("offsets", "the diagonals have more entries than can be counted", "give fewer of them");

    whole_ = {.slice = std::max<std::int64_t>(width, 1),
              .width = width,
              .shift = indexed == Indexed::by_column ? 1 : 0,
              .offsets = offsets_,
              .buffer = std::move(in_place),
              .unpacked = true,
              .in_place = true,
              .rows = std::move(order),
              .begin = begin,
              .host = static_cast<const unsigned char*>(data)};
    if (!whole_.buffer) own_whole();
}

// Copies what is read in place: passes over the whole matrix want its diagonals in order.
void DiaMatrix::own_whole() {
    if (!whole_.in_place) return;
    const auto row_bytes = static_cast<std::size_t>(whole_.width) * facts(dtype_).bytes;
    auto raw = std::make_shared<Buffer>(session_, row_bytes * whole_.rows.size(), "the matrix");
    for (std::size_t k = 0; k < whole_.rows.size(); ++k) {
        look_now_and_then();
        raw->upload(whole_.host + whole_.rows[k] * row_bytes, k * row_bytes, row_bytes);
    }
    whole_.buffer = std::move(raw);
    whole_.in_place = false;
    whole_.begin = 0;
    whole_.rows.clear();
    whole_.host = nullptr;
}

// Where the first row's entry of each diagonal stands, or would, by ascending offset: of a whole that is unpacked.
std::vector<std::int64_t> DiaMatrix::places() const {
    std::vector<std::int64_t> found;
    for (const auto offset : offsets_) {
        const auto k = static_cast<std::size_t>(place_of(whole_.offsets, offset));
        const auto row = static_cast<std::int64_t>(whole_.in_place ? whole_.rows[k] : k);
        found.push_back(whole_.begin + row * whole_.slice + whole_.shift * offset);
    }
    return found;
}

std::shared_ptr<DiaMatrix> DiaMatrix::transposed() {
    session_->require_own_process();
    const auto lock = mutex_.lock();
    std::shared_ptr<DiaMatrix> result(new DiaMatrix());
    result->session_ = session_;
    result->dtype_ = dtype_;
    result->rows_ = cols_;
    result->cols_ = rows_;
    // Row-indexed values of A are column-indexed values of its transpose and the other way round: the buffer is shared.
    result->whole_ = whole_;
    result->whole_.shift = 1 - whole_.shift;
    for (auto& offset : result->whole_.offsets) offset = -offset;
    result->offsets_ = result->whole_.offsets;
    std::sort(result->offsets_.begin(), result->offsets_.end());
    result->symmetric_ = symmetric_;
    result->half_scale_ = half_scale_;
    return result;
}

void DiaMatrix::download(void* values) {
    session_->require_own_process();
    const auto lock = mutex_.lock();
    const auto element = static_cast<std::int64_t>(facts(dtype_).bytes);
    auto* const to = static_cast<unsigned char*>(values);
    std::memset(to, 0, static_cast<std::size_t>(diagonals() * cols_ * element));
    if (diagonals() == 0) return;
    own_whole();
    std::vector<unsigned char> held(whole_.buffer->bytes());
    whole_.buffer->download(held.data());
    for (std::int64_t k = 0; k < diagonals(); ++k) {
        const auto offset = offsets_[static_cast<std::size_t>(k)], moved = whole_.shift * offset;
        const auto source = place_of(whole_.offsets, offset);
        const auto end = std::min(std::min(rows_, cols_ - offset) + moved, whole_.width);
        for (auto place = std::max<std::int64_t>(0, -offset) + moved; place < end;) {
            const auto within = place % whole_.slice, run = std::min(whole_.slice - within, end - place);
            const auto from = (place / whole_.slice * diagonals() + source) * whole_.slice + within;
            std::memcpy(to + (k * cols_ + place - moved + offset) * element, held.data() + from * element,
                        static_cast<std::size_t>(run * element));
            place += run;
        }
    }
}

// The first arguments of a pass that reads the whole matrix.
void DiaMatrix::add_whole(Prepared& plan) {
    own_whole();
    plan.arg(whole_.buffer)
        .arg(cl_long(whole_.slice))
        .arg(cl_long(whole_.width))
        .arg(cl_long(whole_.shift))
        .arg(cl_int(whole_.offsets.size()));
}

std::shared_ptr<Buffer> DiaMatrix::whole_offsets() const { return uploaded(session_, whole_.offsets, "offsets"); }

std::shared_ptr<const StoredValues> DiaMatrix::values(const StoredForm& form) {
    session_->require_own_process();
    const auto slice = std::max<std::int64_t>(form.unpacked ? cols_ : form.slice, 1);
    const StoredForm key{slice, form.upper, form.half, form.unpacked};
    const auto lock = mutex_.lock();
    if (auto alive = in_use_[key].lock()) return alive;

    auto stored = std::make_shared<StoredValues>();
    std::vector<std::int32_t> source;
    for (const auto offset : offsets_)
        if (!form.upper || offset >= 0) {
            stored->offset_list.push_back(offset);
            source.push_back(static_cast<std::int32_t>(place_of(whole_.offsets, offset)));
        }
    if (needs_long_index()) {
        stored->offsets = uploaded(session_, stored->offset_list, "offsets");
    } else {
        const std::vector<std::int32_t> narrow(stored->offset_list.begin(), stored->offset_list.end());
        stored->offsets = uploaded(session_, narrow, "offsets");
    }
    // Data narrower than the matrix are packed: what they leave out is stored zeros to every variant.
    if (form.unpacked && whole_.unpacked && whole_.width >= (whole_.shift == 1 ? cols_ : rows_)) {
        stored->values = whole_.buffer;
        stored->places = uploaded(session_, places(), "places");
        in_use_[key] = stored;
        return stored;
    }
    const auto slices = form.unpacked ? 1 : (rows_ + slice - 1) / slice;
    const auto what = "the matrix in slices of " + std::to_string(slice) + " rows";
    const auto type = form.half ? DType::f16 : dtype_;
    stored->values = std::make_shared<Buffer>(
        session_, DeviceArray::bytes_of(type, {slices, slice, stored->diagonals()}, what), what);
    if (form.half) stored->scale = half_scale();

    Prepared plan(session_);
    const auto offsets = uploaded(session_, stored->offset_list, "offsets");
    const auto sources = uploaded(session_, source, "the order of diagonals");
    const auto options = build_options({session_->device(), dtype_, {}, {}}) + (form.half ? " -DHALF=1" : "") +
                         (whole_.width <= whole_.slice ? " -DONE_SLICE=1" : "") +
                         more_of(static_cast<std::size_t>(slices), stored->offset_list.size());
    auto launch = launch_1d(slice, std::min<std::int64_t>(slice, 64));
    launch.dimensions = 3;
    launch.global[1] = std::min(static_cast<std::size_t>(slices), most_groups);
    launch.global[2] = std::min(stored->offset_list.size(), most_groups);
    plan.add(session_->build("spmv/passes/repack.cl", options), "spmv_repack", launch);
    add_whole(plan);
    plan.arg(stored->values)
        .arg(cl_long(slice))
        .arg(cl_long(form.unpacked ? 1 : 0))
        .arg(cl_long(slices))
        .arg(cl_long(rows_))
        .arg(cl_long(cols_))
        .arg(cl_int(stored->diagonals()))
        .arg(offsets)
        .arg(sources)
        .arg(real_scalar(dtype_, stored->scale));
    plan.run();

    if (!form.upper && !form.half) {  // it holds all there is: what was given need not be kept beside it
        whole_ = {.slice = slice,
                  .width = form.unpacked ? cols_ : rows_,
                  .shift = form.unpacked ? 1 : 0,
                  .offsets = offsets_,
                  .buffer = stored->values,
                  .unpacked = form.unpacked};
        if (form.unpacked) stored->places = uploaded(session_, places(), "places");
        own_ = stored;
    }
    in_use_[key] = stored;  // once it is whole
    return stored;
}

bool DiaMatrix::symmetric() {
    session_->require_own_process();
    const auto lock = mutex_.lock();
    if (symmetric_) return *symmetric_;
    std::vector<std::int32_t> partner;
    for (const auto offset : whole_.offsets)
        partner.push_back(static_cast<std::int32_t>(place_of(whole_.offsets, -offset)));
    if (rows_ != cols_ || std::count(partner.begin(), partner.end(), -1) > 0) {
        symmetric_ = false;
        return false;
    }
    const auto offsets = whole_offsets(), partners = uploaded(session_, partner, "mirrored diagonals");
    const auto found = std::make_shared<Buffer>(session_, sizeof(std::int32_t), "a flag");
    found->fill(0);
    Prepared plan(session_);
    // A pair of mirrored entries is looked at in its upper row, which stands beyond what was given only where both do.
    const auto options = build_options({session_->device(), dtype_, {}, {}}) + more_of(1, whole_.offsets.size());
    plan.add(session_->build("spmv/passes/inspect.cl", options), "spmv_asymmetry",
             over_entries(std::min(rows_, whole_.width), whole_.offsets.size()));
    add_whole(plan);
    plan.arg(cl_long(rows_)).arg(offsets).arg(partners).arg(found);
    plan.run();
    std::int32_t asymmetric = 0;
    found->download(&asymmetric);
    symmetric_ = asymmetric == 0;
    return *symmetric_;
}

double DiaMatrix::scale_of_halves() {
    session_->require_own_process();
    const auto lock = mutex_.lock();
    return half_scale();
}

// The power of two that brings the largest finite value just below 2^15, in the middle of what 16 bits hold.
double DiaMatrix::half_scale() {
    if (half_scale_) return *half_scale_;
    constexpr std::int64_t lanes = 1024;
    const auto count = static_cast<std::size_t>(lanes) * whole_.offsets.size();
    const auto offsets = whole_offsets();
    const auto largest = std::make_shared<Buffer>(session_, count * facts(dtype_).bytes, "magnitudes");
    Prepared plan(session_);
    const auto options = build_options({session_->device(), dtype_, {}, {}}) + more_of(1, whole_.offsets.size());
    plan.add(session_->build("spmv/passes/inspect.cl", options), "spmv_magnitude",
             over_entries(lanes, whole_.offsets.size()));
    add_whole(plan);
    plan.arg(cl_long(rows_)).arg(cl_long(cols_)).arg(offsets).arg(largest);
    plan.run();
    double maximum = 0;
    if (dtype_ == DType::f64) {
        std::vector<double> found(count);
        largest->download(found.data());
        for (const auto value : found) maximum = std::max(maximum, value);
    } else {
        std::vector<float> found(count);
        largest->download(found.data());
        for (const auto value : found) maximum = std::max(maximum, double(value));
    }
    // Powers of two that alpha can be divided by; those of large values, down to -1009, all can be.
    const int reach = dtype_ == DType::f64 ? 1000 : 120;
    half_scale_ = maximum > 0 ? std::ldexp(1.0, std::min(14 - std::ilogb(maximum), reach)) : 1.0;
    return *half_scale_;
}

std::int64_t DiaMatrix::grid_width() const {
    // Bands: runs of neighbouring offsets. A centre is half of first + last, so all is counted twice.
    std::vector<std::int64_t> twice_centres;
    for (std::size_t k = 0; k < offsets_.size();) {
        auto end = k + 1;
        while (end < offsets_.size() && offsets_[end] == offsets_[end - 1] + 1) ++end;
        twice_centres.push_back(offsets_[k] + offsets_[end - 1]);
        k = end;
    }
    std::int64_t width = 0;
    for (const auto centre : twice_centres)
        if (centre > 0 && centre % 2 == 0 && (width == 0 || centre / 2 < width)) width = centre / 2;
    if (width < 2) return 0;
    const auto fits = [&](std::int64_t centre) { return centre % (2 * width) == 0; };
    return std::all_of(twice_centres.begin(), twice_centres.end(), fits) ? width : 0;
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

// Tiles reach up to 64 lines of the grid beyond the last row.
bool DiaMatrix::needs_long_index() const {
    constexpr auto limit = std::int64_t(1) << 30;
    return rows_ + cols_ > limit || grid_width() > limit / 64;
}

}  // namespace gpuopt
