// Shapes of two-dimensional work-groups, without reuse, with reuse in local memory and in caches: Yang 2012, V.B.
#include <algorithm>

#include "workloads/microbench/rows.hpp"

namespace gpuopt {
namespace {

const std::vector<std::int64_t> sides = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
const Parameter across{"LOCAL_X", sides, 32, "work-items along a row of a work-group"};
const Parameter down{"LOCAL_Y", sides, 8, "rows of a work-group"};
constexpr std::int64_t most_groups_down = 65535;  // of a launch in CUDA's terms; kernels of arrays go on from there

std::int64_t elements(const Case& at) { return at.size("elements"); }
std::int64_t rows(const Case& at) { return elements(at) / at.size("width"); }
std::int64_t rows_of_a_half(const Case& at) { return elements(at) / 2 / at.size("width"); }
std::int64_t square_of_a_half(const Case& at) { return rows_of_a_half(at) * rows_of_a_half(at); }
std::int64_t group_size(const Case& at) { return at.parameter("LOCAL_X") * at.parameter("LOCAL_Y"); }
std::int64_t tile_edge(const Case& at) { return std::max(at.parameter("LOCAL_X"), at.parameter("LOCAL_Y")); }

// Work-groups that each take a block of `across_of` x `down_of` of an array.
Launch blocks_of(const Case& at, std::int64_t width, std::int64_t height, std::int64_t across_of,
                 std::int64_t down_of) {
    const auto groups_x = (width + across_of - 1) / across_of;
    const auto groups_y = std::min((height + down_of - 1) / down_of, most_groups_down);
    Launch launch;
    launch.dimensions = 2;
    launch.local[0] = static_cast<std::size_t>(at.parameter("LOCAL_X"));
    launch.local[1] = static_cast<std::size_t>(at.parameter("LOCAL_Y"));
    launch.global[0] = static_cast<std::size_t>(groups_x) * launch.local[0];
    launch.global[1] = static_cast<std::size_t>(groups_y) * launch.local[1];
    return launch;
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
// Both operands once and the square once; so many operations for each pair of scalars that meet.
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
    return {false, [](const Case& at) {
                const auto items = group_size(at);
                return 64 <= items && items <= 1024 ? std::string()
                                                    : "a work-group of " + shape(at) + "; take 64 to 1024 in all";
            }};
}
Rule shape_fits() {
    return {true, [](const Case& at) {
                return group_size(at) <= static_cast<std::int64_t>(at.device.max_work_group_size)
                           ? std::string()
                           : "a work-group of " + shape(at) + "; " + at.device.name + " allows " +
                                 std::to_string(at.device.max_work_group_size);
            }};
}
// The square of all pairs of rows would else outgrow the source without limit.
Rule halves_of_rows() {
    return {false, [](const Case& at) {
                const auto edge = rows_of_a_half(at), width = at.size("width");
                if (edge < 1) return std::string("the source is one row and no two arrays of rows; give a width");
                if (edge > most_groups_down)
                    return std::to_string(edge) + " rows and columns of a result; it has at most " +
                           std::to_string(most_groups_down);
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

MicrobenchRows block_rows() {
    const auto size = shapes_of_64_to_1024(), fits = shape_fits();
    return {
        {{"copy2d",
          "an array of rows is copied, one scalar a work-item",
          {across, down},
          one_each,
          {size, fits},
          {},
          {},
          "copy2d"},
         Source::global,
         elements,
         copying},
        {{"transpose",
          "an array of rows is transposed, one scalar a work-item",
          {across, down},
          one_each,
          {size, fits},
          {},
          {},
          "transpose"},
         Source::global,
         elements,
         copying},
        {{"transpose_tile",
          "an array of rows is transposed through square local tiles",
          {across, down},
          a_tile_a_group,
          {size, fits, needs_local_bytes(square_tile_bytes)},
          {},
          {},
          "transpose"},
         Source::global,
         elements,
         copying},
        {{"tiled",
          "matrix product of the source's halves by local tiles, one scalar a work-item",
          {across, down},
          one_of_the_square_each,
          {size, fits, only_for(real_dtypes), halves_of_rows(), needs_local_bytes(two_tiles_bytes)},
          {},
          {},
          "tiled"},
         Source::global,
         square_of_a_half,
         multiplying},
        {{"cache_reuse",
          "squared distances of all pairs of rows of the source's halves, reread through the cache",
          {across, down},
          one_of_the_square_each,
          {size, fits, only_for(real_dtypes), halves_of_rows()},
          {},
          {},
          "cache_reuse"},
         Source::global,
         square_of_a_half,
         squaring_differences},
    };
}

}  // namespace gpuopt
