// Ways of addressing global memory and their mends: Yang 2012, V.A.2, with strides, gathers and broadcasts beside them.
#include <algorithm>

#include "workloads/microbench/rows.hpp"

namespace gpuopt {
namespace {

const Parameter span{"SPAN", {2, 4}, 4, "adjacent scalars of a work-item"};
const Parameter delta{"DELTA", {1, 2, 4, 8, 16}, 1, "scalars between a work-item's own and those it shares"};
const Parameter offset{"OFFSET", {0, 1, 2, 4, 8, 16, 31}, 1, "scalars that loads begin off the line"};
const Parameter stride{"STRIDE", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, 32, "scalars between neighbours"};
const Parameter ahead{"AHEAD", {1, 4, 8}, 4, "independent loads of a work-item"};
const Parameter run{"RUN", {8, 32, 128}, 32, "scalars that a work-group loads in a trip"};
const Parameter tile_rows{"LOCAL", {64, 128, 256}, 64, "work-items in a work-group, and rows of a tile"};
const Parameter tile_columns{"TILE", {8, 16, 32, 64}, 32, "columns of a tile"};
constexpr std::int64_t margin = 16;  // at each end, of `shared`; the largest DELTA

std::int64_t elements(const Case& at) { return at.size("elements"); }
std::int64_t rows(const Case& at) { return elements(at) / at.size("width"); }
std::int64_t inner(const Case& at) { return elements(at) - 2 * margin; }
std::int64_t after_offset(const Case& at) { return elements(at) - at.parameter("OFFSET"); }
// A device's worth of work-items: 2048 a compute unit is what the largest hold.
std::int64_t filling(const Case& at) {
    const auto local = at.parameter("LOCAL");
    return std::max<std::int64_t>(2048 * std::int64_t(at.device.compute_units) / local, 1) * local;
}

Launch one_each(const Case& at) { return launch_1d(elements(at), at.parameter("LOCAL")); }
Launch a_span_each(const Case& at) { return launch_1d(elements(at) / at.parameter("SPAN"), at.parameter("LOCAL")); }
Launch a_row_each(const Case& at) { return launch_1d(rows(at), at.parameter("LOCAL")); }
Launch some_each(const Case& at) {
    const auto each = at.parameter("AHEAD");
    return launch_1d(quotient_up(elements(at), each), at.parameter("LOCAL"));
}
Launch some_of_a_row_each(const Case& at) {
    const auto stride_of = at.parameter("STRIDE"), each = at.parameter("AHEAD");
    const auto longest = quotient_up(elements(at), stride_of);
    return launch_2d({quotient_up(longest, each), stride_of}, at.parameter("LOCAL"), 1);
}
std::int64_t sums(const Case& at) { return std::int64_t(some_each(at).global[0]); }
std::int64_t sums_of_rows(const Case& at) {
    const auto launch = some_of_a_row_each(at);
    return std::int64_t(launch.global[0] * launch.global[1]);
}
Launch fill_the_device(const Case& at) { return launch_1d(filling(at), at.parameter("LOCAL")); }

Work scalars(const Case& at, const char* memory, std::int64_t count, std::int64_t flops = 0) {
    auto work = moves(memory, double(count) * double(at.element_bytes()));
    work.flops = double(flops);
    return work;
}
Work copying(const Case& at) { return scalars(at, "dram", 2 * elements(at)); }
Work reading(const Case& at) { return scalars(at, "dram", elements(at), elements(at)); }
Work adding_rows(const Case& at) { return scalars(at, "dram", elements(at) + rows(at), elements(at)); }
Work three_points(const Case& at) { return scalars(at, "dram", elements(at) + inner(at), 2 * inner(at)); }
Work copying_after_offset(const Case& at) { return scalars(at, "dram", 2 * after_offset(at)); }
Work same_for_all(const Case& at) {
    const auto asked = filling(at) * at.parameter("RUN") * at.size("trips");
    return scalars(at, "l1", asked, asked);
}

Rule more_than_one_row() {
    return constraint([](const Case& at) { return rows(at) > 1; },
                      "the source is one row, work for one work-item; give a width");
}
std::int64_t tile_bytes(const Case& at) {
    return at.parameter("LOCAL") * (at.parameter("TILE") + 1) * at.element_bytes();
}
std::int64_t shared_tile_bytes(const Case& at) { return (at.parameter("LOCAL") + 2 * margin) * at.element_bytes(); }
std::int64_t offset_tile_bytes(const Case& at) {
    return (at.parameter("LOCAL") + at.parameter("OFFSET")) * at.element_bytes();
}

}  // namespace

// Longer than a function should be: it is the table, a row after the other.
MicrobenchRows pattern_rows() {
    const auto fits = work_group_fits("LOCAL");
    const auto reals = only_for(real_dtypes);
    return {
        {{
             .name = "adjacent",
             .summary = "each work-item copies SPAN adjacent scalars one by one",
             .parameters = {span, local_size()},
             .launch = a_span_each,
             .rules = {fits},
             .family = "adjacent",
         },
         {
             .outputs = elements,
             .work = copying,
         }},
        {{
             .name = "adjacent_vector",
             .summary = "each work-item copies SPAN adjacent scalars as a vector",
             .parameters = {span, local_size()},
             .launch = a_span_each,
             .rules = {fits},
             .family = "adjacent",
         },
         {
             .outputs = elements,
             .work = copying,
         }},
        {{
             .name = "row",
             .summary = "each work-item adds up a row of `width` scalars",
             .parameters = {local_size()},
             .launch = a_row_each,
             .rules = {fits, reals, more_than_one_row()},
             .family = "row",
         },
         {
             .outputs = rows,
             .work = adding_rows,
         }},
        {{
             .name = "row_tile",
             .summary = "each work-item adds up a row that its work-group brings into local memory by tiles",
             .parameters = {tile_rows, tile_columns},
             .launch = a_row_each,
             .rules = {fits, reals, more_than_one_row(), needs_local_bytes(tile_bytes)},
             .family = "row",
         },
         {
             .outputs = rows,
             .work = adding_rows,
         }},
        {{
             .name = "shared",
             .summary = "each work-item adds three scalars DELTA apart, which others load too",
             .parameters = {delta, local_size()},
             .launch = [](const Case& at) { return launch_1d(inner(at), at.parameter("LOCAL")); },
             .rules = {fits, reals},
             .family = "shared",
         },
         {
             .outputs = inner,
             .work = three_points,
         }},
        {{
             .name = "shared_tile",
             .summary = "each work-item adds three scalars DELTA apart from a local tile with a halo",
             .parameters = {delta, local_size()},
             .launch = [](const Case& at) { return launch_1d(inner(at), at.parameter("LOCAL")); },
             .rules = {fits, reals, needs_local_bytes(shared_tile_bytes)},
             .family = "shared",
         },
         {
             .outputs = inner,
             .work = three_points,
         }},
        {{
             .name = "unaligned",
             .summary = "neighbouring work-items copy neighbouring scalars from OFFSET scalars further on",
             .parameters = {offset, local_size()},
             .launch = one_each,
             .rules = {fits},
             .family = "unaligned",
         },
         {
             .outputs = after_offset,
             .work = copying_after_offset,
         }},
        {{
             .name = "unaligned_tile",
             .summary = "scalars from OFFSET further on, loaded aligned into a local tile that takes the offset",
             .parameters = {offset, local_size()},
             .launch = one_each,
             .rules = {fits, needs_local_bytes(offset_tile_bytes)},
             .family = "unaligned",
         },
         {
             .outputs = after_offset,
             .work = copying_after_offset,
         }},
        {{
             .name = "strided",
             .summary = "neighbouring work-items add scalars STRIDE apart, AHEAD each; the launch loads each once",
             .parameters = {stride, local_size(), ahead},
             .launch = some_of_a_row_each,
             .rules = {fits},
             .family = "strided",
         },
         {
             .outputs = sums_of_rows,
             .work = reading,
             .stores_on_request = true,
         }},
        {{
             .name = "random",
             .summary = "neighbouring work-items add scalars from places of a random permutation, AHEAD each",
             .parameters = {local_size(), ahead},
             .launch = some_each,
             .rules = {fits, at_most_elements(std::int64_t(1) << 31, "its places are hashed in 32 bits")},
             .family = "random",
         },
         {
             .outputs = sums,
             .work = reading,
             .stores_on_request = true,
         }},
        {{
             .name = "broadcast",
             .summary = "all work-items of a group load the same RUN scalars; counted is what each asks for",
             .parameters = {run, local_size()},
             .launch = fill_the_device,
             .rules = {fits, reals},
             .family = "broadcast",
         },
         {
             .outputs = filling,
             .work = same_for_all,
             .stores_on_request = true,
         }},
    };
}

}  // namespace gpuopt
