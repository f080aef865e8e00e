// What SpMV's variants ask memories for, counted from their kernels: one function for each way of reading the matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/workload.hpp"

namespace gpuopt {

// A run of neighbouring diagonals: offsets first .. first + count - 1, which on a grid of `width` are dy lines down and
// dx .. dx + count - 1 across.
struct Band {
    std::int64_t first, count, dx, dy;
};

// Entries of the diagonal at `offset` that lie inside a rows x cols matrix.
std::int64_t length_inside(std::int64_t offset, std::int64_t rows, std::int64_t cols);

// A matrix as a kernel sees it. `at` has the sizes "rows", "cols", "diags", "vectors", "grid", "reach_x", "reach_y".
struct SpmvShape {
    const Case& at;
    const std::vector<std::int64_t>& offsets;  // ascending, each of which touches the matrix
    const std::vector<Band>& bands;
    std::int64_t index_bytes = 4;  // of an offset in memory

    std::int64_t rows() const { return at.size("rows"); }
    std::int64_t cols() const { return at.size("cols"); }
    std::int64_t diagonals() const { return static_cast<std::int64_t>(offsets.size()); }
    double element() const { return double(at.element_bytes()); }
    double value() const { return at.parameter_or("HALF", 0) == 1 ? 2 : element(); }
    // Of an offset in global memory: none where it is in constant memory.
    double offset() const { return at.parameter_or("OFFSETS", 0) == 1 ? 0 : double(index_bytes); }
    // Entries of the first rows inside the matrix; were it longer, of more rows than it has.
    double inside(std::int64_t of_rows) const;
    double inside() const { return inside(rows()); }
    // Elements of x that an entry inside the matrix is multiplied by.
    double columns_used() const;
};

// Bytes and fetches of one product; the results, and what passes copy, are counted elsewhere.
struct SpmvTraffic {
    double global = 0, local = 0, fetches = 0;
};

namespace spmv_traffic {
// Kernels that test each entry: an offset for every row and diagonal, values and x inside the matrix alone.
SpmvTraffic tested_rows(const SpmvShape& shape);
SpmvTraffic tested_rows_local_offsets(const SpmvShape& shape);
// Four rows a work-item: values of whole diagonals, of x what lies inside.
SpmvTraffic four_rows(const SpmvShape& shape);
SpmvTraffic four_rows_local_offsets(const SpmvShape& shape);
SpmvTraffic four_rows_of_pixels(const SpmvShape& shape);
SpmvTraffic padded_rows(const SpmvShape& shape);    // ROWS rows a work-item, no tests
SpmvTraffic interior_rows(const SpmvShape& shape);  // an offset for ROWS rows, near the rim for each
SpmvTraffic banded_rows(const SpmvShape& shape);    // x in windows of bands
SpmvTraffic tiles(const SpmvShape& shape);          // x of a tile in local memory
SpmvTraffic symmetric(const SpmvShape& shape);
SpmvTraffic symmetric_sliced(const SpmvShape& shape);
SpmvTraffic blocks_of_rows(const SpmvShape& shape);  // blocks of the parameter BLOCK, or SLICE
SpmvTraffic unpacked_blocks(const SpmvShape& shape);
SpmvTraffic columns(const SpmvShape& shape);  // of all vectors at once
}  // namespace spmv_traffic

}  // namespace gpuopt
