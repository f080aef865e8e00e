#include "workloads/spmv/traffic.hpp"

#include <algorithm>

namespace gpuopt {

std::int64_t length_inside(std::int64_t offset, std::int64_t rows, std::int64_t cols) {
    if (offset <= -rows || offset >= cols) return 0;  // no arithmetic with offsets from far outside
    return std::min(rows, cols - offset) - std::max<std::int64_t>(0, -offset);
}

double SpmvShape::inside(std::int64_t of_rows) const {
    double sum = 0;
    for (const auto offset : offsets) sum += double(length_inside(offset, of_rows, cols()));
    return sum;
}

double SpmvShape::columns_used() const {
    std::int64_t used = 0, from = 0;  // columns below `from` are counted
    for (const auto offset : offsets) {
        const auto first = std::max({from, std::int64_t(0), offset}), end = std::min(cols(), rows() + offset);
        if (end <= first) continue;
        used += end - first;
        from = end;
    }
    return double(used);
}

namespace spmv_traffic {
namespace {

// Rows in blocks that begin at multiples of `block`, whose entries all lie `margin` inside the matrix or further.
std::int64_t rows_inside(const SpmvShape& shape, std::int64_t block, std::int64_t first_offset,
                         std::int64_t last_offset, std::int64_t margin = 0) {
    const auto lowest = std::max<std::int64_t>(0, margin - first_offset),
               end = std::min(shape.rows(), shape.cols() - last_offset - margin);
    return block * std::max<std::int64_t>(0, end / block - quotient_up(lowest, block));
}

// Elements of x that bands load for WIDTH rows, by whole vectors of at most four.
double window(const SpmvShape& shape, std::int64_t width, std::int64_t Band::*from) {
    const auto quad = std::min<std::int64_t>(width, 4);
    std::int64_t loaded = 0;
    for (const auto& band : shape.bands)
        loaded += quotient_up(((band.*from) & (quad - 1)) + band.count + width - 1, quad) * quad;
    return double(loaded);
}

// Work-groups that are tiles of the grid.
struct Tiles {
    double groups = 0, staged = 0;            // all of them; elements of x that they stage
    double inner_items = 0, inner_lines = 0;  // work-items, and times ROWS, of tiles with no entry outside the matrix
};
Tiles tiles_of(const SpmvShape& shape, std::int64_t wide, std::int64_t first_offset, std::int64_t last_offset,
               std::int64_t cols, std::int64_t margin_x, std::int64_t margin_y) {
    const auto& at = shape.at;
    const auto grid = at.size("grid"), across = at.parameter("TILE_X") * wide,
               height = at.parameter("TILE_Y") * at.parameter("ROWS");
    const auto lines = quotient_up(shape.rows(), grid);
    Tiles found;
    for (std::int64_t top = 0; top < lines; top += height)
        for (std::int64_t left = 0; left < grid; left += across) {
            const auto first = top * grid + left, end = first + (height - 1) * grid + across;
            found.groups += 1;
            for (auto line = top - margin_y; line < top + height + margin_y; ++line)
                found.staged += double(length_inside(line * grid + left - margin_x, across + 2 * margin_x, cols));
            if (end > shape.rows() || first + first_offset < 0 || end + last_offset > cols) continue;
            const auto items = std::min(at.parameter("TILE_X"), quotient_up(grid - left, wide));
            found.inner_items += double(items * at.parameter("TILE_Y"));
        }
    found.inner_lines = found.inner_items * double(at.parameter("ROWS"));
    return found;
}

double pairs(const SpmvShape& shape, std::int64_t rows) { return double(rows) * double(shape.diagonals()); }

// Every work-item of a subgroup reads the same offset; each group stages all of them before.
double local_offsets(const SpmvShape& shape, std::int64_t rows_each) {
    const auto items = pairs(shape, quotient_up(shape.rows(), rows_each));
    return double(shape.index_bytes) * items * (1 / double(shape.at.lanes()) + 1 / double(shape.at.parameter("LOCAL")));
}
double staged_offsets(const SpmvShape& shape, std::int64_t rows_each) {
    const auto groups = quotient_up(shape.rows(), rows_each * shape.at.parameter("LOCAL"));
    return double(shape.index_bytes) * pairs(shape, groups);
}

double whole_fours(const SpmvShape& shape) { return pairs(shape, round_up(shape.rows(), 4)); }
double vector_of_fours(const SpmvShape& shape) { return shape.element() * shape.inside(round_up(shape.rows(), 4)); }

}  // namespace

SpmvTraffic tested_rows(const SpmvShape& shape) {
    return {shape.offset() * pairs(shape, shape.rows()) + (shape.value() + shape.element()) * shape.inside()};
}

SpmvTraffic tested_rows_local_offsets(const SpmvShape& shape) {
    return {staged_offsets(shape, 1) + (shape.value() + shape.element()) * shape.inside(), local_offsets(shape, 1)};
}

SpmvTraffic four_rows(const SpmvShape& shape) {
    return {shape.offset() * whole_fours(shape) / 4 + shape.value() * whole_fours(shape) + vector_of_fours(shape)};
}

SpmvTraffic four_rows_local_offsets(const SpmvShape& shape) {
    return {staged_offsets(shape, 4) + shape.value() * whole_fours(shape) + vector_of_fours(shape),
            local_offsets(shape, 4)};
}

// A pixel where the offset is a multiple of four, else two.
SpmvTraffic four_rows_of_pixels(const SpmvShape& shape) {
    double pixels = 0;
    for (const auto offset : shape.offsets) pixels += offset % 4 == 0 ? 1 : 2;
    return {staged_offsets(shape, 4) + shape.value() * whole_fours(shape), local_offsets(shape, 4),
            pixels * double(quotient_up(shape.rows(), 4))};
}

SpmvTraffic padded_rows(const SpmvShape& shape) {
    const auto each = shape.at.parameter("ROWS"), items = quotient_up(shape.rows(), each);
    return {pairs(shape, items) * (shape.offset() + double(each) * (shape.value() + shape.element()))};
}

SpmvTraffic interior_rows(const SpmvShape& shape) {
    if (shape.offsets.empty()) return {};
    const auto each = shape.at.parameter("ROWS");
    const auto inner =
        rows_inside(shape, shape.at.parameter("LOCAL") * each, shape.offsets.front(), shape.offsets.back());
    return {shape.offset() * pairs(shape, inner / each + shape.rows() - inner) +
            (shape.value() + shape.element()) * shape.inside()};
}

SpmvTraffic banded_rows(const SpmvShape& shape) {
    if (shape.offsets.empty()) return {};
    const auto each = shape.at.parameter("ROWS");
    const auto inner =
        rows_inside(shape, shape.at.parameter("LOCAL") * each, std::min<std::int64_t>(0, shape.offsets.front()),
                    std::max<std::int64_t>(0, shape.offsets.back()), std::min<std::int64_t>(each, 4));
    const auto rim = shape.rows() - inner, windows = inner / each;
    return {shape.offset() * pairs(shape, rim) + shape.value() * shape.inside() +
            shape.element() *
                (window(shape, each, &Band::first) * double(windows) + shape.inside() - pairs(shape, inner))};
}

SpmvTraffic tiles(const SpmvShape& shape) {
    if (shape.offsets.empty()) return {};
    const auto& at = shape.at;
    const auto wide = at.parameter("WIDE"), quad = std::min<std::int64_t>(wide, 4),
               margin = round_up(at.size("reach_x"), quad), down = at.size("reach_y");
    const auto found = tiles_of(shape, wide, std::min<std::int64_t>(0, shape.offsets.front()),
                                std::max<std::int64_t>(0, shape.offsets.back()), shape.cols(), margin, down);
    const auto inner = found.inner_lines * double(wide), diags = double(shape.diagonals());
    const auto tile = double(at.parameter("TILE_X") * wide + 2 * margin) *
                      double(at.parameter("TILE_Y") * at.parameter("ROWS") + 2 * down);
    const auto rim = double(shape.rows()) - inner;
    return {shape.offset() * rim * diags + shape.value() * shape.inside() +
                shape.element() * (found.staged + shape.inside() - inner * diags),
            shape.element() * (found.groups * tile + window(shape, wide, &Band::dx) * found.inner_lines)};
}

// Of the upper diagonals alone, each value and an element of x for its row and again for the mirrored one.
SpmvTraffic symmetric(const SpmvShape& shape) {
    if (shape.offsets.empty()) return {};
    const auto reach = std::max<std::int64_t>(0, shape.offsets.back());
    const auto found = tiles_of(shape, 1, -reach, reach, shape.rows(), 0, 0);
    const auto upper = double(std::count_if(shape.offsets.begin(), shape.offsets.end(), [](auto o) { return o >= 0; }));
    return {shape.offset() * upper * (found.inner_items + double(shape.rows()) - found.inner_lines) +
            (shape.value() + shape.element()) * shape.inside()};
}

// Each upper diagonal passes twice, for its rows and for the mirrored ones; so do values and x, which is one of each
// for an entry of the whole matrix. A pass loads and stores the sums in y, once for four diagonals where these fit: any
// four for their own rows, four neighbours for the mirrored ones. Offsets are read once a slice and are not counted.
SpmvTraffic symmetric_sliced(const SpmvShape& shape) {
    std::vector<std::int64_t> upper;
    for (const auto offset : shape.offsets)
        if (offset >= 0) upper.push_back(offset);
    const auto slice = shape.at.parameter("SLICE"), items = shape.at.parameter("ITEMS"), rows = shape.rows(),
               slices = quotient_up(rows, slice), width = shape.at.parameter("WIDTH");
    std::int64_t sums = 0;
    const auto add = [&sums](std::int64_t count) { sums += std::max<std::int64_t>(count, 0); };
    for (std::int64_t item = 0; item < items; ++item) {
        const auto first = slices * item / items * slice, end = std::min(rows, slices * (item + 1) / items * slice);
        if (first >= end) continue;
        for (const auto o : upper) add(std::min(first, end - o) - std::max<std::int64_t>(0, first - o));
        for (auto row = first; row < end; row += slice) {
            const auto count = std::min(slice, rows - row);
            std::size_t k = 0;
            for (; k + 4 <= upper.size() && count <= rows - row - upper[k + 3]; k += 4) add(count);
            for (; k < upper.size(); ++k) add(std::min(count, rows - row - upper[k]));
            for (k = !upper.empty() && upper[0] == 0; k < upper.size();) {
                const auto room = end - row - upper[k], both = std::min(count, room);
                if (k + 4 > upper.size() || upper[k + 3] != upper[k] + 3 || both <= 3 + width) {
                    add(both);
                    ++k;
                    continue;
                }
                const auto joint = (both - 3) / width * width;
                add(joint);
                for (std::int64_t d = 0; d < 4; ++d) add(std::min(count, room - d) - joint);
                k += 4;
            }
        }
    }
    return {(shape.value() + shape.element()) * shape.inside() + 2 * shape.element() * double(sums)};
}

SpmvTraffic blocks_of_rows(const SpmvShape& shape) {
    const auto& at = shape.at;
    const auto block = at.parameter_or("BLOCK", at.parameter_or("SLICE", 0));
    return {shape.offset() * pairs(shape, quotient_up(shape.rows(), block)) +
            (shape.value() + shape.element()) * shape.inside()};
}

// Beside each offset a place.
SpmvTraffic unpacked_blocks(const SpmvShape& shape) {
    auto asked = blocks_of_rows(shape);
    asked.global += 8.0 * pairs(shape, quotient_up(shape.rows(), shape.at.parameter("BLOCK")));
    return asked;
}

// WIDTH vectors share a value and its offset; vectors that fill no WIDTH have their own.
SpmvTraffic columns(const SpmvShape& shape) {
    const auto vectors = shape.at.size("vectors"), width = shape.at.parameter("WIDTH");
    const auto turns = vectors / width + vectors % width;
    return {double(turns) * (shape.offset() * pairs(shape, shape.rows()) + shape.value() * shape.inside()) +
            double(vectors) * shape.element() * shape.inside()};
}

}  // namespace spmv_traffic
}  // namespace gpuopt
