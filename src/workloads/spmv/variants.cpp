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
const Parameter half{"HALF", {0, 1}, 0, "values stored in 16 bits, scaled by a power of two", true};
const Parameter slice{"SLICE", {0, 256, 1024, 4096}, 0, "rows stored together, diagonal after diagonal; 0: all"};
const Parameter tile_x{"TILE_X", {32, 64, 128}, 64, "work-items across a tile"};
const Parameter tile_y{"TILE_Y", {1, 2, 4, 8}, 4, "work-items down a tile"};
const Parameter wide{"WIDE", {1, 2, 4, 8}, 1, "neighbouring points a work-item"};
const Parameter items{"ITEMS", {2, 8, 64, 512}, 64, "work-items, each of its own work-group"};
const Parameter vector_width{"WIDTH", {4, 8, 16}, 16, "elements in an explicit vector"};

Launch row_a_work_item(const Case& at) { return launch_1d(at.size("rows"), at.parameter("LOCAL")); }
Launch four_rows_a_work_item(const Case& at) { return launch_1d((at.size("rows") + 3) / 4, at.parameter("LOCAL")); }
Launch some_rows_a_work_item(const Case& at) {
    return launch_1d((at.size("rows") + at.parameter("ROWS") - 1) / at.parameter("ROWS"), at.parameter("LOCAL"));
}
Launch one_chunk_per_item(const Case& at) { return launch_1d(at.parameter("ITEMS"), 1); }
Launch columns_of_a_row(const Case& at) {
    const auto chunks = (at.size("vectors") + at.parameter("WIDTH") - 1) / at.parameter("WIDTH");
    return launch_1d(at.size("rows") * chunks, at.parameter("LOCAL"));
}
Launch groups_that_stay(const Case& at) {
    const auto wanted = some_rows_a_work_item(at).global[0];
    auto launch = launch_1d(std::int64_t(at.device.compute_units) * at.parameter("GROUPS") * at.parameter("LOCAL"),
                            at.parameter("LOCAL"));
    launch.global[0] = std::min(launch.global[0], wanted);
    return launch;
}
std::int64_t points_each(const Case& at) { return at.parameters.count("WIDE") ? at.parameter("WIDE") : 1; }
Launch tiles_of_the_grid(const Case& at) {
    const auto grid = std::max<std::int64_t>(at.size("grid"), 1), across = points_each(at);
    const auto lines = (at.size("rows") + grid - 1) / grid, rows = at.parameter("ROWS");
    auto launch = launch_1d((grid + across - 1) / across, at.parameter("TILE_X"));
    const auto down = launch_1d((lines + rows - 1) / rows, at.parameter("TILE_Y"));
    launch.dimensions = 2;
    launch.local[1] = down.local[0];
    launch.global[1] = down.global[0];
    return launch;
}

std::int64_t offset_bytes(const Case&) { return std::int64_t{256} * 8; }
std::int64_t tile_bytes(const Case& at) {
    const auto quad = std::min<std::int64_t>(points_each(at), 4),
               margin = (at.size("reach_x") + quad - 1) / quad * quad;
    return (at.parameter("TILE_X") * points_each(at) + 2 * margin) *
           (at.parameter("TILE_Y") * at.parameter("ROWS") + 2 * at.size("reach_y")) * at.element_bytes();
}

std::int64_t kept_bytes(const Case& at) {
    return at.parameter("KEEP") * at.parameter("LOCAL") * at.parameter("ROWS") * at.element_bytes();
}

Rule fp32_images() {
    return {false, [](const Case& at) {
                return at.dtype == DType::f32 ? std::string() : std::string("RGBA float images hold float32");
            }};
}
Rule tile_fits_work_group() {
    return {true, [](const Case& at) {
                const auto wanted = at.parameter("TILE_X") * at.parameter("TILE_Y");
                return wanted <= static_cast<std::int64_t>(at.device.max_work_group_size)
                           ? std::string()
                           : "a work-group of " + std::to_string(wanted) + "; " + at.device.name + " allows " +
                                 std::to_string(at.device.max_work_group_size);
            }};
}
Rule at_least_a_warp_wide() {
    return {false, [](const Case& at) {
                return at.parameter("TILE_X") * at.parameter("TILE_Y") >= 64
                           ? std::string()
                           : std::string("TILE_X * TILE_Y must be at least 64");
            }};
}
Rule offsets_fit_constant_memory() {
    return {true, [](const Case& at) {
                const auto bytes = at.size("diags") * 8;
                return at.parameter("OFFSETS") == 0 || bytes <= static_cast<std::int64_t>(at.device.constant_bytes)
                           ? std::string()
                           : std::to_string(bytes) + " bytes of offsets in constant memory; " + at.device.name +
                                 " has " + std::to_string(at.device.constant_bytes);
            }};
}
Rule few_bands() {
    return {false, [](const Case& at) {
                return at.size("bands") <= 128 ? std::string()
                                               : "the diagonals form " + std::to_string(at.size("bands")) +
                                                     " bands; at most 128 are compiled in";
            }};
}
Rule shows_a_grid() {
    return {false, [](const Case& at) {
                return at.size("grid") > 0 ? std::string() : std::string("the offsets show no grid");
            }};
}
Rule grid_is_a_multiple_of_wide() {
    return {false, [](const Case& at) {
                return at.size("grid") % at.parameter("WIDE") == 0
                           ? std::string()
                           : "a grid " + std::to_string(at.size("grid")) + " wide is no multiple of WIDE";
            }};
}
// A tile of one line needs no grid.
Rule shows_a_grid_or_is_a_line() {
    return {false, [](const Case& at) {
                return at.size("grid") > 0 || at.parameter("TILE_Y") * at.parameter("ROWS") == 1
                           ? std::string()
                           : std::string("the offsets show no grid; use TILE_Y=1 and ROWS=1");
            }};
}

double element(const Case& at) { return double(at.element_bytes()); }
double value(const Case& at) {
    const auto half_stored = at.parameters.find("HALF");
    return half_stored != at.parameters.end() && half_stored->second == 1 ? 2 : element(at);
}
double offset(const Case& at) {
    const auto home = at.parameters.find("OFFSETS");
    return home != at.parameters.end() && home->second == 1 ? 0 : 4;
}
double all_from_memory(const Case& at) { return offset(at) + value(at) + element(at); }
double no_offsets(const Case& at) { return value(at) + element(at); }
double values_alone(const Case& at) { return value(at); }
double an_offset_for_some_rows(const Case& at) { return offset(at) / double(at.parameter("ROWS")) + no_offsets(at); }
double a_window_a_band(const Case& at) {
    const auto rows = double(at.parameter("ROWS")), diags = double(std::max<std::int64_t>(at.size("diags"), 1));
    return value(at) + element(at) * (diags + double(at.size("bands")) * (rows - 1)) / (rows * diags);
}
double x_of_a_tile(const Case& at) {
    const auto tile = double(at.parameter("TILE_X") * points_each(at) * at.parameter("TILE_Y") * at.parameter("ROWS"));
    const auto diags = double(std::max<std::int64_t>(at.size("diags"), 1));
    return value(at) + double(tile_bytes(at)) / (tile * diags);
}
// One offset an entry; a group of four rows shares one.
double offset_per_row(const Case&) { return 4; }
double offset_per_four_rows(const Case&) { return 1; }
// Two pixels for four rows, one where the offset is a multiple of four.
double fetches_of_two_pixels(const Case&) { return 1.75 / 4; }
double mirrored_values_once(const Case& at) { return value(at) / 2 + element(at); }
double values_once_for_all_columns(const Case& at) {
    const auto vectors = double(std::max<std::int64_t>(at.size("vectors"), 1));
    return element(at) + (value(at) + 4) / std::min(vectors, double(at.parameter("WIDTH")));
}

const std::vector<SpmvVariant>& table() {
    static const std::vector<SpmvVariant> rows = {
        {{"basic",
          "one row a work-item, offsets in global memory, a bounds test an entry",
          {local_size},
          row_a_work_item,
          {work_group_fits("LOCAL")}},
         MatrixForm::exact,
         VectorHome::plain,
         all_from_memory},
        {{"aligned",
          "the same with diagonals aligned to 128 bytes and a running pointer",
          {local_size},
          row_a_work_item,
          {work_group_fits("LOCAL")}},
         MatrixForm::pitched,
         VectorHome::plain,
         all_from_memory},
        {{"local_offsets",
          "the same with the offsets in local memory",
          {local_size},
          row_a_work_item,
          {work_group_fits("LOCAL"), needs_local_bytes(offset_bytes)}},
         MatrixForm::pitched,
         VectorHome::plain,
         no_offsets,
         false,
         false,
         false,
         offset_per_row},
        {{"vectorized",
          "four rows a work-item by 4-wide loads, offsets in local memory",
          {local_size},
          four_rows_a_work_item,
          {work_group_fits("LOCAL"), needs_local_bytes(offset_bytes)}},
         MatrixForm::pitched,
         VectorHome::plain,
         no_offsets,
         false,
         false,
         false,
         offset_per_four_rows},
        {{"image",
          "the same with x in an RGBA image read by the sampler",
          {local_size},
          four_rows_a_work_item,
          {work_group_fits("LOCAL"), needs_local_bytes(offset_bytes), fp32_images()},
          {"images"},
          {}},
         MatrixForm::pitched,
         VectorHome::image,
         values_alone,
         false,
         false,
         false,
         offset_per_four_rows,
         fetches_of_two_pixels},
        {{"coarse",
          "four rows by 4-wide loads, few work-items with a run of rows each",
          {items},
          one_chunk_per_item,
          {}},
         MatrixForm::pitched,
         VectorHome::plain,
         no_offsets},
        {{"padded",
          "ROWS rows a work-item, x with zeros on either side instead of bounds tests",
          {local_size, rows_each, unroll, offset_home, load_kind, half},
          some_rows_a_work_item,
          {work_group_fits("LOCAL"), offsets_fit_constant_memory(), loads_past_l1()}},
         MatrixForm::pitched,
         VectorHome::padded,
         an_offset_for_some_rows},
        {{"interior",
          "ROWS rows a work-item, bounds tests only in work-groups near the matrix's rim",
          {local_size, rows_each, unroll, slice, offset_home, load_kind, half},
          some_rows_a_work_item,
          {work_group_fits("LOCAL"), offsets_fit_constant_memory(), loads_past_l1()}},
         MatrixForm::sliced,
         VectorHome::plain,
         an_offset_for_some_rows},
        {{"resident",
          "as interior, by work-groups that stay; sums wait in local memory and leave in bursts",
          {local_size,
           rows_each,
           unroll,
           {"GROUPS", {2, 4, 8}, 8, "work-groups a compute unit"},
           {"KEEP", {1, 4, 8, 16}, 8, "blocks of rows whose sums wait"},
           slice,
           offset_home,
           half},
          groups_that_stay,
          {work_group_fits("LOCAL"), offsets_fit_constant_memory(), needs_local_bytes(kept_bytes)}},
         MatrixForm::sliced,
         VectorHome::plain,
         an_offset_for_some_rows},
        {{"banded",
          "diagonals compiled in as bands, x of a band loaded once for ROWS rows",
          {local_size, {"ROWS", {1, 2, 4, 8}, 1, rows_each.meaning}, slice, load_kind, half},
          some_rows_a_work_item,
          {work_group_fits("LOCAL"), few_bands(), loads_past_l1()}},
         MatrixForm::sliced,
         VectorHome::plain,
         a_window_a_band,
         true},
        {{"tiles",
          "work-groups are tiles of the grid, x of a tile and its surroundings in local memory",
          {tile_x, tile_y, wide, {"ROWS", {1, 2, 4}, 1, "lines a work-item"}, load_kind, half},
          tiles_of_the_grid,
          {shows_a_grid(), grid_is_a_multiple_of_wide(), tile_fits_work_group(), at_least_a_warp_wide(),
           needs_local_bytes(tile_bytes), few_bands(), loads_past_l1()},
          {},
          {"grid"}},
         MatrixForm::pitched,
         VectorHome::plain,
         x_of_a_tile,
         true,
         false,
         false,
         element},
        {{"symmetric",
          "upper diagonals alone; each value is read for its own row and, from a cache, for the mirrored one",
          {tile_x, tile_y, rows_each, {"UNROLL", {1, 2, 5, 10}, 1, unroll.meaning}, slice, offset_home, half},
          tiles_of_the_grid,
          {shows_a_grid_or_is_a_line(), tile_fits_work_group(), at_least_a_warp_wide(), offsets_fit_constant_memory()},
          {},
          {"symmetric"}},
         MatrixForm::sliced,
         VectorHome::plain,
         no_offsets},
        {{"row_blocks",
          "few work-items, each a run of blocks of rows, explicit vectors, the paper's layout",
          {{"BLOCK", {64, 256, 1024}, 64, "rows whose sums are kept at once"}, vector_width, items, half},
          one_chunk_per_item,
          {}},
         MatrixForm::pitched,
         VectorHome::plain,
         no_offsets},
        {{"sliced",
          "few work-items, each a run of slices stored as one stream, explicit vectors",
          {{"SLICE", {32, 64, 128}, 64, "rows stored together, diagonal after diagonal"}, vector_width, items, half},
          one_chunk_per_item,
          {multiple_of("SLICE", "WIDTH")}},
         MatrixForm::sliced,
         VectorHome::plain,
         no_offsets},
        {{"symmetric_sliced",
          "few work-items, upper diagonals alone; each value is added to its row and to the mirrored one",
          {{"SLICE", {1024, 4096, 16384}, 1024, "rows stored together, diagonal after diagonal"},
           vector_width,
           {"ITEMS", {2, 4, 8, 16, 32}, 16, items.meaning},
           half},
          one_chunk_per_item,
          {},
          {},
          {"symmetric"}},
         MatrixForm::sliced,
         VectorHome::plain,
         mirrored_values_once,
         false,
         false,
         true},
        {{"columns",
          "x of several columns: WIDTH columns of a row a work-item, the matrix read once for all",
          {{"LOCAL", {64, 128, 256}, 256, local_size.meaning}, {"WIDTH", {1, 2, 4, 8}, 4, "columns a work-item"}},
          columns_of_a_row,
          {work_group_fits("LOCAL")},
          {},
          {"columns"}},
         MatrixForm::pitched,
         VectorHome::plain,
         values_once_for_all_columns,
         false,
         true},
        {{"columns_sliced",
          "x of several columns: few work-items, a row's values kept in cache while its columns pass",
          {{"SLICE", {8, 16, 64}, 16, "rows stored together, diagonal after diagonal"},
           {"WIDTH", {1, 2, 4, 8, 16}, 8, "columns summed at once"},
           items},
          one_chunk_per_item,
          {},
          {},
          {"columns"}},
         MatrixForm::sliced,
         VectorHome::plain,
         values_once_for_all_columns,
         false,
         true},
    };
    return rows;
}

}  // namespace

bool SpmvVariant::upper() const {
    return std::find(input_properties.begin(), input_properties.end(), "symmetric") != input_properties.end();
}

const Workload& spmv_workload() {
    static const Workload workload = [] {
        Workload result{"spmv", {DType::f32, DType::f64}, {}};
        for (const auto& row : table()) result.variants.push_back(&row);
        return result;
    }();
    return workload;
}

const SpmvVariant& spmv_variant(const std::string& name) {
    return static_cast<const SpmvVariant&>(spmv_workload().variant(name));
}

}  // namespace gpuopt
