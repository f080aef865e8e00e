// The table of SpMV variants: adding one is a row here and kernels/spmv/<name>.cl. The paper's steps come first, in its
// order.
#include <algorithm>

#include "workloads/spmv/spmv.hpp"

namespace gpuopt {
namespace {

const Parameter local_size{"LOCAL", {64, 128, 256, 512, 1024}, 256, "work-items in a work-group"};
const Parameter rows_each{"ROWS", {1, 2, 4}, 1, "rows a work-item"};
const Parameter unroll{"UNROLL", {1, 3, 5, 7, 9, 13, 27}, 9, "entries of a row loaded before the first is used"};
const Parameter offset_home{"OFFSETS", {0, 1}, 0, "offsets in global (0) or constant (1) memory"};
const Parameter load_kind{"LOAD", {0, 1}, 0, "values through the L1 cache (0) or past it (1)"};
const Parameter half{.name = "HALF",
                     .levels = {0, 1},
                     .standard = 0,
                     .meaning = "values stored in 16 bits, scaled by a power of two",
                     .alters_accuracy = true};
const Parameter slice{"SLICE", {0, 256, 1024, 4096}, 0, "rows stored together, diagonal after diagonal; 0: all"};
const Parameter tile_x{"TILE_X", {32, 64, 128}, 64, "work-items across a tile"};
const Parameter tile_y{"TILE_Y", {1, 2, 4, 8}, 4, "work-items down a tile"};
const Parameter wide{"WIDE", {1, 2, 4, 8}, 1, "neighbouring points a work-item"};
const Parameter items{"ITEMS", {2, 8, 64, 512}, 64, "work-items, each of its own work-group"};
const Parameter block{"BLOCK", {64, 256, 1024}, 64, "rows whose sums are kept at once"};
const Parameter vector_width{"WIDTH", {4, 8, 16}, 16, "elements in an explicit vector"};

Launch row_a_work_item(const Case& at) { return launch_1d(at.size("rows"), at.parameter("LOCAL")); }
Launch four_rows_a_work_item(const Case& at) {
    return launch_1d(quotient_up(at.size("rows"), 4), at.parameter("LOCAL"));
}
Launch some_rows_a_work_item(const Case& at) {
    return launch_1d(quotient_up(at.size("rows"), at.parameter("ROWS")), at.parameter("LOCAL"));
}
Launch one_chunk_per_item(const Case& at) { return launch_1d(at.parameter("ITEMS"), 1); }
Launch columns_of_a_row(const Case& at) {
    const auto chunks = quotient_up(at.size("vectors"), at.parameter("WIDTH"));
    return launch_1d(at.size("rows") * chunks, at.parameter("LOCAL"));
}
Launch groups_that_stay(const Case& at) {
    const auto wanted = some_rows_a_work_item(at).global[0];
    auto launch = launch_1d(std::int64_t(at.device.compute_units) * at.parameter("GROUPS") * at.parameter("LOCAL"),
                            at.parameter("LOCAL"));
    launch.global[0] = std::min(launch.global[0], wanted);
    return launch;
}
std::int64_t points_each(const Case& at) { return at.parameter_or("WIDE", 1); }
Launch tiles_of_the_grid(const Case& at) {
    const auto grid = std::max<std::int64_t>(at.size("grid"), 1), lines = quotient_up(at.size("rows"), grid);
    auto launch = launch_2d({quotient_up(grid, points_each(at)), quotient_up(lines, at.parameter("ROWS"))},
                            at.parameter("TILE_X"), at.parameter("TILE_Y"));
    // More tiles below each other than a launch has groups in y stand in planes behind each other, as TILE_DOWN counts.
    const auto down = std::int64_t(launch.global[1] / launch.local[1]), planes = quotient_up(down, most_groups_yz);
    if (planes > 1) {
        launch.dimensions = 3;
        launch.global[1] = std::size_t(quotient_up(down, planes)) * launch.local[1];
        launch.global[2] = std::size_t(planes);
    }
    return launch;
}

std::int64_t offset_bytes(const Case&) { return std::int64_t{256} * 8; }
std::int64_t tile_bytes(const Case& at) {
    const auto quad = std::min<std::int64_t>(points_each(at), 4), margin = round_up(at.size("reach_x"), quad);
    return (at.parameter("TILE_X") * points_each(at) + 2 * margin) *
           (at.parameter("TILE_Y") * at.parameter("ROWS") + 2 * at.size("reach_y")) * at.element_bytes();
}

std::int64_t kept_bytes(const Case& at) {
    return at.parameter("KEEP") * at.parameter("LOCAL") * at.parameter("ROWS") * at.element_bytes();
}

Rule offsets_fit_the_listing() {
    return {.of_device = false, .unmet = [](const Case& at) {
                return at.size("diags") <= 256
                           ? std::string()
                           : std::to_string(at.size("diags")) + " diagonals; the article's array holds 256 offsets";
            }};
}
Rule fp32_images() {
    return constraint([](const Case& at) { return at.dtype == DType::f32; }, "RGBA float images hold float32");
}
Rule at_least_a_warp_wide() {
    return constraint([](const Case& at) { return at.parameter("TILE_X") * at.parameter("TILE_Y") >= 64; },
                      "TILE_X * TILE_Y must be at least 64");
}
Rule offsets_fit_constant_memory() {
    return {.of_device = true, .unmet = [](const Case& at) {
                const auto bytes = at.size("diags") * 8;
                return at.parameter("OFFSETS") == 0 || bytes <= static_cast<std::int64_t>(at.device.constant_bytes)
                           ? std::string()
                           : std::to_string(bytes) + " bytes of offsets in constant memory; " + at.device.name +
                                 " has " + std::to_string(at.device.constant_bytes);
            }};
}
Rule few_bands() {
    return {.of_device = false, .unmet = [](const Case& at) {
                return at.size("bands") <= 128 ? std::string()
                                               : "the diagonals form " + std::to_string(at.size("bands")) +
                                                     " bands; at most 128 are compiled in";
            }};
}
Rule shows_a_grid() {
    return constraint([](const Case& at) { return at.size("grid") > 0; }, "the offsets show no grid");
}
Rule grid_is_a_multiple_of_wide() {
    return {.of_device = false, .unmet = [](const Case& at) {
                return at.size("grid") % at.parameter("WIDE") == 0
                           ? std::string()
                           : "a grid " + std::to_string(at.size("grid")) + " wide is no multiple of WIDE";
            }};
}
// A tile of one line needs no grid.
Rule shows_a_grid_or_is_a_line() {
    return constraint(
        [](const Case& at) { return at.size("grid") > 0 || at.parameter("TILE_Y") * at.parameter("ROWS") == 1; },
        "the offsets show no grid; use TILE_Y=1 and ROWS=1");
}

namespace traffic = spmv_traffic;

// Longer than a function should be: it is the table, a row after the other.
const std::vector<SpmvVariant>& table() {
    static const std::vector<SpmvVariant> rows = {
        {{
             .name = "basic",
             .summary = "one row a work-item, offsets in global memory, a bounds test an entry",
             .parameters = {local_size},
             .launch = row_a_work_item,
             .rules = {work_group_fits("LOCAL")},
         },
         {
             .form = MatrixForm::exact,
             .traffic = traffic::tested_rows,
         }},
        {{
             .name = "aligned",
             .summary = "the same with diagonals aligned to 128 bytes and a running pointer",
             .parameters = {local_size},
             .launch = row_a_work_item,
             .rules = {work_group_fits("LOCAL")},
         },
         {
             .form = MatrixForm::pitched,
             .traffic = traffic::tested_rows,
         }},
        {{
             .name = "local_offsets",
             .summary = "the same with the offsets, at most 256, in local memory",
             .parameters = {local_size},
             .launch = row_a_work_item,
             .rules = {work_group_fits("LOCAL"), offsets_fit_the_listing(), needs_local_bytes(offset_bytes)},
         },
         {
             .form = MatrixForm::pitched,
             .traffic = traffic::tested_rows_local_offsets,
         }},
        {{
             .name = "vectorized",
             .summary = "four rows a work-item by 4-wide loads, offsets in local memory",
             .parameters = {local_size},
             .launch = four_rows_a_work_item,
             .rules = {work_group_fits("LOCAL"), offsets_fit_the_listing(), needs_local_bytes(offset_bytes)},
         },
         {
             .form = MatrixForm::pitched,
             .traffic = traffic::four_rows_local_offsets,
         }},
        {{
             .name = "image",
             .summary = "the same with x in an RGBA image read by the sampler",
             .parameters = {local_size},
             .launch = four_rows_a_work_item,
             .rules = {work_group_fits("LOCAL"), offsets_fit_the_listing(), needs_local_bytes(offset_bytes),
                       fp32_images()},
             .needs = {"images"},
         },
         {
             .form = MatrixForm::pitched,
             .home = VectorHome::image,
             .traffic = traffic::four_rows_of_pixels,
         }},
        {{
             .name = "coarse",
             .summary = "four rows by 4-wide loads, few work-items with a run of rows each",
             .parameters = {items},
             .launch = one_chunk_per_item,
         },
         {
             .form = MatrixForm::pitched,
             .traffic = traffic::four_rows,
         }},
        {{
             .name = "padded",
             .summary = "ROWS rows a work-item, x with zeros on either side instead of bounds tests",
             .parameters = {local_size, rows_each, unroll, offset_home, load_kind, half},
             .launch = some_rows_a_work_item,
             .rules = {work_group_fits("LOCAL"), offsets_fit_constant_memory(), loads_past_l1()},
         },
         {
             .form = MatrixForm::pitched,
             .home = VectorHome::padded,
             .traffic = traffic::padded_rows,
         }},
        {{
             .name = "interior",
             .summary = "ROWS rows a work-item, bounds tests only in work-groups near the matrix's rim",
             .parameters = {local_size, rows_each, unroll, slice, offset_home, load_kind, half},
             .launch = some_rows_a_work_item,
             .rules = {work_group_fits("LOCAL"), offsets_fit_constant_memory(), loads_past_l1()},
         },
         {
             .form = MatrixForm::sliced,
             .traffic = traffic::interior_rows,
         }},
        {{
             .name = "resident",
             .summary = "as interior, by work-groups that stay; sums wait in local memory and leave in bursts",
             .parameters = {local_size,
                            rows_each,
                            unroll,
                            {"GROUPS", {2, 4, 8}, 8, "work-groups a compute unit"},
                            {"KEEP", {1, 4, 8, 16}, 8, "blocks of rows whose sums wait"},
                            slice,
                            offset_home,
                            half},
             .launch = groups_that_stay,
             .rules = {work_group_fits("LOCAL"), offsets_fit_constant_memory(), needs_local_bytes(kept_bytes)},
         },
         {
             .form = MatrixForm::sliced,
             .traffic = traffic::interior_rows,
         }},
        {{
             .name = "banded",
             .summary = "diagonals compiled in as bands, x of a band loaded once for ROWS rows",
             .parameters = {local_size, {"ROWS", {1, 2, 4, 8}, 1, rows_each.meaning}, slice, load_kind, half},
             .launch = some_rows_a_work_item,
             .rules = {work_group_fits("LOCAL"), few_bands(), loads_past_l1()},
         },
         {
             .form = MatrixForm::sliced,
             .traffic = traffic::banded_rows,
             .bands = true,
         }},
        {{
             .name = "tiles",
             .summary = "work-groups are tiles of the grid, x of a tile and its surroundings in local memory",
             .parameters = {tile_x, tile_y, wide, {"ROWS", {1, 2, 4}, 1, "lines a work-item"}, load_kind, half},
             .launch = tiles_of_the_grid,
             .rules = {shows_a_grid(), grid_is_a_multiple_of_wide(), work_group_fits("TILE_X", "TILE_Y"),
                       at_least_a_warp_wide(), needs_local_bytes(tile_bytes), few_bands(), loads_past_l1()},
             .input_properties = {"grid"},
         },
         {
             .form = MatrixForm::pitched,
             .traffic = traffic::tiles,
             .bands = true,
         }},
        {{
             .name = "symmetric",
             .summary =
                 "upper diagonals alone; each value is read for its own row and, from a cache, for the mirrored one",
             .parameters =
                 {tile_x, tile_y, rows_each, {"UNROLL", {1, 2, 5, 10}, 1, unroll.meaning}, slice, offset_home, half},
             .launch = tiles_of_the_grid,
             .rules = {shows_a_grid_or_is_a_line(), work_group_fits("TILE_X", "TILE_Y"), at_least_a_warp_wide(),
                       offsets_fit_constant_memory()},
             .input_properties = {"symmetric"},
         },
         {
             .form = MatrixForm::sliced,
             .traffic = traffic::symmetric,
             .upper_only = true,
         }},
        {{
             .name = "row_blocks",
             .summary = "few work-items, each a run of blocks of rows, explicit vectors, the paper's layout",
             .parameters = {block, vector_width, items, half},
             .launch = one_chunk_per_item,
         },
         {
             .form = MatrixForm::pitched,
             .traffic = traffic::blocks_of_rows,
         }},
        {{
             .name = "unpacked",
             .summary = "as row_blocks, on values as SciPy holds them: nothing is packed before the first product",
             .parameters = {block, vector_width, items},
             .launch = one_chunk_per_item,
         },
         {
             .form = MatrixForm::unpacked,
             .traffic = traffic::unpacked_blocks,
         }},
        {{
             .name = "sliced",
             .summary = "few work-items, each a run of slices stored as one stream, explicit vectors",
             .parameters = {{"SLICE", {32, 64, 128}, 64, "rows stored together, diagonal after diagonal"},
                            vector_width,
                            items,
                            half},
             .launch = one_chunk_per_item,
             .rules = {multiple_of("SLICE", "WIDTH")},
         },
         {
             .form = MatrixForm::sliced,
             .traffic = traffic::blocks_of_rows,
         }},
        {{
             .name = "symmetric_sliced",
             .summary = "few work-items, upper diagonals alone; each value is added to its row and to the mirrored one",
             .parameters = {{"SLICE", {1024, 4096, 16384}, 1024, "rows stored together, diagonal after diagonal"},
                            vector_width,
                            {"ITEMS", {2, 4, 8, 16, 32}, 16, items.meaning},
                            half},
             .launch = one_chunk_per_item,
             .input_properties = {"symmetric"},
         },
         {
             .form = MatrixForm::sliced,
             .traffic = traffic::symmetric_sliced,
             .upper_only = true,
             .sums_in_y = true,
         }},
        {{
             .name = "columns",
             .summary = "x of several columns: WIDTH columns of a row a work-item, the matrix read once for all",
             .parameters = {{"LOCAL", {64, 128, 256}, 256, local_size.meaning},
                            {"WIDTH", {1, 2, 4, 8}, 4, "columns a work-item"}},
             .launch = columns_of_a_row,
             .rules = {work_group_fits("LOCAL")},
             .input_properties = {"columns"},
         },
         {
             .form = MatrixForm::pitched,
             .traffic = traffic::columns,
             .all_columns = true,
         }},
        {{
             .name = "columns_sliced",
             .summary = "x of several columns: few work-items, a row's values kept in cache while its columns pass",
             .parameters = {{"SLICE", {8, 16, 64}, 16, "rows stored together, diagonal after diagonal"},
                            {"WIDTH", {1, 2, 4, 8, 16}, 8, "columns summed at once"},
                            items},
             .launch = one_chunk_per_item,
             .input_properties = {"columns"},
         },
         {
             .form = MatrixForm::sliced,
             .traffic = traffic::columns,
             .all_columns = true,
         }},
    };
    return rows;
}

}  // namespace

const Workload& spmv_workload() {
    static const auto workload = workload_of("spmv", {DType::f32, DType::f64}, table());
    return workload;
}

}  // namespace gpuopt
