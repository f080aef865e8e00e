// The table of tmv variants: adding one is a row here and kernels/tmv/<name>.cl.
#include <algorithm>

#include "workloads/tmv/tmv.hpp"

namespace gpuopt {
namespace {

const Parameter across{"LOCAL_X", {32, 64, 128, 256}, 64, "work-items across a work-group, a column or two each"};
const Parameter shared_across{"LOCAL_X", across.levels, 32, across.meaning};
const Parameter down{"LOCAL_Y", {2, 4, 8, 16}, 8, "work-items that share the rows of a column"};

std::int64_t power_of_two_up(std::int64_t value) {
    std::int64_t power = 1;
    while (power < value) power *= 2;
    return power;
}
Launch groups(const Case& at, std::int64_t local_x, std::int64_t local_y) {
    return launch_2d({at.size("strips") * local_x, at.size("parts") * local_y}, local_x, local_y);
}
Launch columns_by_rows(const Case& at) { return groups(at, at.parameter("LOCAL_X"), at.parameter_or("LOCAL_Y", 1)); }
Launch line_of_items(const Case& at) { return groups(at, at.parameter("LOCAL"), 1); }
Launch one_chunk_per_item(const Case& at) { return groups(at, 1, 1); }

TmvGrid parts_of(const Case& at, std::int64_t strips, std::int64_t parts, std::int64_t step) {
    const auto rows = std::max<std::int64_t>(at.size("rows"), 1);
    TmvGrid grid;
    grid.strips = strips;
    grid.part_rows = quotient_up(quotient_up(rows, std::clamp<std::int64_t>(parts, 1, rows)), step) * step;
    grid.parts = quotient_up(rows, grid.part_rows);
    return grid;
}

std::function<TmvGrid(const Case&, bool)> strips_of_a_group(std::int64_t columns_each) {
    return [columns_each](const Case& at, bool) {
        return parts_of(at, quotient_up(at.size("cols"), at.parameter("LOCAL_X") * columns_each), 1, 1);
    };
}

// Work-items across a group. As a rule they read 512 bytes of a row. They read more where rows are so few that some
// work-items would have none, and less where there would be too few groups for one pass. Runs of 256 bytes stream as
// well as longer ones from memory, and better than few groups do (H200, 2026-11: 1.07 GB in 0.247 ms by 256 groups, in
// 0.29 ms by 128 groups of 512 bytes, in 0.265 ms by 512 groups of 128 bytes).
std::int64_t items_across(const Case& at, std::int64_t vectors, std::int64_t enough) {
    constexpr std::int64_t usual_bytes = 512, mib = std::int64_t(1) << 20;
    const auto local = at.parameter("LOCAL"), vector_bytes = at.parameter("WIDTH") * at.element_bytes();
    const auto rows = std::max<std::int64_t>(at.size("rows"), 1), bytes = rows * vectors * vector_bytes;
    const auto wide = power_of_two_up(quotient_up(local * at.parameter("UNROLL"), rows));
    const auto across = std::min({std::max(usual_bytes / vector_bytes, wide), power_of_two_up(vectors), local});
    const auto shortest = bytes > 256 * mib ? usual_bytes / 2 : bytes > 32 * mib ? usual_bytes / 4 : 32;
    auto narrow = across;
    while (quotient_up(vectors, narrow) < enough && narrow / 2 * vector_bytes >= shortest) narrow /= 2;
    return narrow;
}

TmvGrid filling_the_device(const Case& at, bool may_split) {
    constexpr std::int64_t small = std::int64_t(4) << 20;  // bytes; they are read in less time than a second pass takes
    const auto units = std::max<std::int64_t>(at.device.compute_units, 1);
    const auto cols = at.size("cols"), rows = at.size("rows"), local = at.parameter("LOCAL");
    // Nearly half of the work-items that a compute unit of today's GPUs holds; more are not needed, since each has many
    // loads under way.
    const auto full = units * 7 * 128 / local;
    const auto enough = rows * cols * at.element_bytes() > small ? full : quotient_up(units, 3);
    const auto vectors = std::max<std::int64_t>(quotient_up(cols, at.parameter("WIDTH")), 1);
    const auto across = at.parameter("ACROSS") > 0 ? at.parameter("ACROSS") : items_across(at, vectors, enough);
    const auto strips = cols == 0 ? 0 : quotient_up(vectors, across);
    const auto step = local / across * at.parameter("UNROLL");
    auto parts = at.parameter("PARTS");
    if (parts == 0) {
        constexpr std::int64_t items_a_unit = 4096, most_parts = 4096, fewest_rows = 64;
        const auto wanted = strips >= enough ? 1 : units * items_a_unit / local / std::max<std::int64_t>(strips, 1);
        parts = std::min({wanted, quotient_up(rows, std::max(step, fewest_rows)), most_parts});
    }
    auto grid = parts_of(at, strips, may_split ? parts : 1, step);
    grid.across = across;
    return grid;
}

TmvGrid few_strips(const Case& at, bool may_split) {
    const auto strips = quotient_up(at.size("cols"), at.parameter("STRIP"));
    constexpr std::int64_t most_rows = 4096;  // of a part: longer sums lose digits
    const auto parts = std::max(quotient_up(at.parameter("ITEMS"), std::max<std::int64_t>(strips, 1)),
                                quotient_up(at.size("rows"), most_rows));
    return parts_of(at, strips, may_split ? parts : 1, at.parameter("ROWS"));
}

std::int64_t items_of_a_group(const Case& at) { return at.parameter("LOCAL_X") * at.parameter_or("LOCAL_Y", 1); }
std::function<std::int64_t(const Case&)> staged_and_sums(std::int64_t columns_each) {
    return [columns_each](const Case& at) { return items_of_a_group(at) * (1 + columns_each) * at.element_bytes(); };
}
std::int64_t sums_of_a_group(const Case& at) {
    return at.parameter("LOCAL") * at.parameter("WIDTH") * at.element_bytes();
}

std::function<std::int64_t(const Case&)> columns(std::int64_t count) {
    return [count](const Case&) { return count; };
}
std::int64_t vector_width(const Case& at) { return at.parameter("WIDTH"); }

double once_a_strip(const Case&, const TmvGrid& grid) { return double(grid.strips); }
// Where rows are no whole vectors, a work-item's columns lie ACROSS apart, and more work-items have some of the last.
double once_an_item(const Case& at, const TmvGrid& grid) {
    const auto width = at.parameter("WIDTH"), cols = at.size("cols");
    if (at.size("aligned") == 1) return double(quotient_up(cols, width));
    const auto whole = cols / (grid.across * width);
    return double(whole * grid.across + std::min(grid.across, cols - whole * grid.across * width));
}

double none(const Case&, const TmvGrid&) { return 0; }
// Each group stages all of v and reads an element for every row: once for the work-items of a subgroup that lie side by
// side. With LOCAL_Y their sums follow, written by all and read by the first row of work-items.
std::function<double(const Case&, const TmvGrid&)> staged(std::int64_t columns_each) {
    return [columns_each](const Case& at, const TmvGrid& grid) {
        const auto across = at.parameter("LOCAL_X"), down = at.parameter_or("LOCAL_Y", 1),
                   together = std::min(at.lanes(), across);
        double reads = 0;
        for (std::int64_t strip = 0; strip < grid.strips; ++strip) {
            const auto left = at.size("cols") - strip * across * columns_each;
            reads += double(quotient_up(std::min(across, quotient_up(left, columns_each)), together));
        }
        const auto sums = down > 1 ? (2 * down - 1) * across * columns_each : 0;
        return double(at.size("rows")) * (double(grid.strips) + reads) + double(grid.strips * sums);
    };
}

// Longer than a function should be: it is the table, a row after the other.
const std::vector<TmvVariant>& table() {
    static const std::vector<TmvVariant> rows = {
        {{
             .name = "naive",
             .summary = "a column a work-item, v staged in local memory",
             .parameters = {across},
             .launch = columns_by_rows,
             .rules = {work_group_fits(items_of_a_group), needs_local_bytes(staged_and_sums(0))},
         },
         {
             .width = columns(1),
             .grid = strips_of_a_group(1),
             .from_global = once_a_strip,
             .in_local = staged(1),
         }},
        {{
             .name = "f2",
             .summary = "the same, two columns a work-item by float2",
             .parameters = {across},
             .launch = columns_by_rows,
             .rules = {work_group_fits(items_of_a_group), needs_local_bytes(staged_and_sums(0))},
         },
         {
             .width = columns(2),
             .grid = strips_of_a_group(2),
             .from_global = once_a_strip,
             .in_local = staged(2),
         }},
        {{
             .name = "tlp",
             .summary = "a column over LOCAL_Y work-items, whose sums are added at the end",
             .parameters = {shared_across, down},
             .launch = columns_by_rows,
             .rules = {work_group_fits(items_of_a_group), needs_local_bytes(staged_and_sums(1))},
         },
         {
             .width = columns(1),
             .grid = strips_of_a_group(1),
             .from_global = once_a_strip,
             .in_local = staged(1),
         }},
        {{
             .name = "tlp_f2",
             .summary = "two columns by float2 over LOCAL_Y work-items",
             .parameters = {shared_across, down},
             .launch = columns_by_rows,
             .rules = {work_group_fits(items_of_a_group), needs_local_bytes(staged_and_sums(2))},
         },
         {
             .width = columns(2),
             .grid = strips_of_a_group(2),
             .from_global = once_a_strip,
             .in_local = staged(2),
         }},
        {{
             .name = "row_parts",
             .summary =
                 "wide loads, several rows under way a work-item, work-groups split rows until the device is full",
             .parameters =
                 {{"LOCAL", {128, 256, 512, 1024}, 512, "work-items in a work-group"},
                  {"WIDTH", {1, 2, 4}, 4, "columns a work-item"},
                  {"UNROLL", {2, 4, 8, 16}, 8, "rows under way a work-item"},
                  {"ACROSS", {0, 2, 4, 8, 16, 32, 64, 128}, 0, "work-items across a work-group; 0: by the shape of A"},
                  {"PARTS",
                   {0, 1, 2, 4, 8, 16, 32, 64, 128, 256},
                   0,
                   "parts of the rows; 0: as many as fill the device"}},
             .launch = line_of_items,
             .rules = {work_group_fits("LOCAL"), needs_local_bytes(sums_of_a_group)},
         },
         {
             .width = vector_width,
             .grid = filling_the_device,
             .from_global = once_an_item,
             .in_local = none,
         }},
        {{
             .name = "row_blocks",
             .summary =
                 "few work-items, explicit vectors; the sums of a strip of columns stay in cache while its rows pass",
             .parameters =
                 {{"WIDTH", {4, 8, 16}, 16, "columns in an explicit vector"},
                  {"ROWS", {2, 4, 8, 16}, 8, "rows added at once"},
                  {"STRIP", {512, 1024, 2048, 4096, 8192}, 4096, "columns whose sums are kept, at most"},
                  {"ITEMS", {2, 4, 8, 16, 64}, 8, "work-items, at least; rows are split where strips are fewer"}},
             .launch = one_chunk_per_item,
         },
         {
             .width = vector_width,
             .grid = few_strips,
             .from_global = once_a_strip,
             .in_local = none,
         }},
    };
    return rows;
}

}  // namespace

const Workload& tmv_workload() {
    static const auto workload = workload_of("tmv", {DType::f32, DType::f64}, table());
    return workload;
}

}  // namespace gpuopt
