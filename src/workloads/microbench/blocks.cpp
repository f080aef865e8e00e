// Shapes of two-dimensional work-groups, without reuse, with reuse in local memory and in caches: Yang 2012, V.B.
#include <algorithm>

#include "workloads/microbench/rows.hpp"

namespace gpuopt {
namespace {

const std::vector<std::int64_t> sides = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
const Parameter across{"LOCAL_X", sides, 32, "work-items along a row of a work-group"};
const Parameter down{"LOCAL_Y", sides, 8, "rows of a work-group"};
const Parameter math{
    "MATH",
    {0, 1, 2, 3},
    0,
    "a difference by itself (0), the activation matrix's pow (1), then exp of the sum (2), that by pown (3)"};

std::int64_t elements(const Case& at) { return at.size("elements"); }
std::int64_t rows(const Case& at) { return elements(at) / at.size("width"); }
std::int64_t rows_of_a_half(const Case& at) { return elements(at) / 2 / at.size("width"); }
std::int64_t square_of_a_half(const Case& at) { return rows_of_a_half(at) * rows_of_a_half(at); }
std::int64_t group_size(const Case& at) { return at.parameter("LOCAL_X") * at.parameter("LOCAL_Y"); }
std::int64_t tile_edge(const Case& at) { return std::max(at.parameter("LOCAL_X"), at.parameter("LOCAL_Y")); }

// Work-groups that each take a block of `across_of` x `down_of` of an array.
Launch blocks_of(const Case& at, std::int64_t width, std::int64_t height, std::int64_t across_of,
                 std::int64_t down_of) {
    const auto groups_x = quotient_up(width, across_of);
    const auto groups_y = std::min(quotient_up(height, down_of), most_groups_yz);
    const auto local_x = at.parameter("LOCAL_X"), local_y = at.parameter("LOCAL_Y");
    return launch_2d({groups_x * local_x, groups_y * local_y}, local_x, local_y);
}
Launch one_each(const Case& at) {
    return blocks_of(at, at.size("width"), rows(at), at.parameter("LOCAL_X"), at.parameter("LOCAL_Y"));
}
Launch a_tile_a_group(const Case& at) {
    return blocks_of(at, at.size("width"), rows(at), tile_edge(at), tile_edge(at));
}
Launch one_of_the_square_each(const Case& at) {
    const auto edge = rows_of_a_half(at);
    return blocks_of(at, edge, edge, at.parameter("LOCAL_X"), at.parameter("LOCAL_Y"));
}

Work copying(const Case& at) { return moves("dram", 2 * double(elements(at) * at.element_bytes())); }
// Reads both operands and writes the square once; `flops` operations for each pair of scalars that meet. A pow counts
// as one of them, so that rates of all forms compare.
Work every_pair_of_rows(const Case& at, double flops) {
    const auto operands = 2 * rows_of_a_half(at) * at.size("width");
    auto work = moves("dram", double(operands + square_of_a_half(at)) * double(at.element_bytes()));
    work.flops = flops * double(square_of_a_half(at)) * double(at.size("width"));
    return work;
}
Work multiplying(const Case& at) { return every_pair_of_rows(at, 2); }
Work squaring_differences(const Case& at) { return every_pair_of_rows(at, 3); }

std::string shape(const Case& at) {
    return std::to_string(at.parameter("LOCAL_X")) + " x " + std::to_string(at.parameter("LOCAL_Y")) + " work-items";
}
Rule shapes_of_64_to_1024() {
    return {.of_device = false, .unmet = [](const Case& at) {
                const auto items = group_size(at);
                return 64 <= items && items <= 1024 ? std::string()
                                                    : "a work-group of " + shape(at) + "; take 64 to 1024 in all";
            }};
}
// The square of all pairs of rows would else outgrow the source without limit.
Rule halves_of_rows() {
    return {.of_device = false, .unmet = [](const Case& at) {
                const auto edge = rows_of_a_half(at), width = at.size("width");
                if (edge < 1) return std::string("the source is one row and no two arrays of rows; give a width");
                if (edge > most_groups_yz)
                    return std::to_string(edge) + " rows and columns of a result; it has at most " +
                           std::to_string(most_groups_yz);
                return edge <= 2 * width ? std::string()
                                         : std::to_string(edge) + " rows of " + std::to_string(width) +
                                               " scalars make a result larger than the source; give a larger width";
            }};
}
std::int64_t square_tile_bytes(const Case& at) { return tile_edge(at) * (tile_edge(at) + 1) * at.element_bytes(); }
std::int64_t two_tiles_bytes(const Case& at) {
    const auto x = at.parameter("LOCAL_X");
    return (at.parameter("LOCAL_Y") + x) * x * at.element_bytes();
}

}  // namespace

// Longer than a function should be: it is the table, a row after the other.
MicrobenchRows block_rows() {
    const auto size = shapes_of_64_to_1024(), fits = work_group_fits(group_size, shape);
    return {
        {{
             .name = "copy2d",
             .summary = "an array of rows is copied, one scalar a work-item",
             .parameters = {across, down},
             .launch = one_each,
             .rules = {size, fits},
             .family = "copy2d",
         },
         {
             .outputs = elements,
             .work = copying,
         }},
        {{
             .name = "transpose",
             .summary = "an array of rows is transposed, one scalar a work-item",
             .parameters = {across, down},
             .launch = one_each,
             .rules = {size, fits},
             .family = "transpose",
         },
         {
             .outputs = elements,
             .work = copying,
         }},
        {{
             .name = "transpose_tile",
             .summary = "an array of rows is transposed through square local tiles",
             .parameters = {across, down},
             .launch = a_tile_a_group,
             .rules = {size, fits, needs_local_bytes(square_tile_bytes)},
             .family = "transpose",
         },
         {
             .outputs = elements,
             .work = copying,
         }},
        {{
             .name = "tiled",
             .summary = "matrix product of the source's halves by local tiles, one scalar a work-item",
             .parameters = {across, down},
             .launch = one_of_the_square_each,
             .rules = {size, fits, only_for(real_dtypes), halves_of_rows(), needs_local_bytes(two_tiles_bytes)},
             .family = "tiled",
         },
         {
             .outputs = square_of_a_half,
             .work = multiplying,
         }},
        {{
             .name = "cache_reuse",
             .summary = "squared distances of all pairs of rows of the source's halves, reread through the cache",
             .parameters = {across, down, math},
             .launch = one_of_the_square_each,
             .rules = {size, fits, only_for(real_dtypes), halves_of_rows()},
             .family = "cache_reuse",
         },
         {
             .outputs = square_of_a_half,
             .work = squaring_differences,
         }},
    };
}

}  // namespace gpuopt
