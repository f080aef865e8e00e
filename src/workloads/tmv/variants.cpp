// The table of tmv variants: adding one is a row here and kernels/tmv/<name>.cl.
#include <algorithm>

#include "workloads/tmv/tmv.hpp"

namespace gpuopt {
namespace {

const Parameter across{"LOCAL_X", {32, 64, 128, 256}, 64, "work-items across a work-group, a column or two each"};
const Parameter shared_across{"LOCAL_X", across.levels, 32, across.meaning};
const Parameter down{"LOCAL_Y", {2, 4, 8, 16}, 8, "work-items that share the rows of a column"};

std::int64_t quotient_up(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }
std::int64_t power_of_two_up(std::int64_t value) {
    std::int64_t power = 1;
    while (power < value) power *= 2;
    return power;
}
std::int64_t given(const Case& at, const char* name, std::int64_t otherwise) {
    const auto found = at.parameters.find(name);
    return found == at.parameters.end() ? otherwise : found->second;
}

Launch groups(const Case& at, std::int64_t local_x, std::int64_t local_y) {
    auto launch = launch_1d(at.size("strips") * local_x, local_x);
    launch.dimensions = 2;
    launch.local[1] = static_cast<std::size_t>(local_y);
    launch.global[1] = static_cast<std::size_t>(at.size("parts") * local_y);
    return launch;
}
Launch columns_by_rows(const Case& at) { return groups(at, at.parameter("LOCAL_X"), given(at, "LOCAL_Y", 1)); }
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

// How many work-items lie across a group. As a rule 512 bytes of a row; more where rows are so few that some would have
// none; less until groups are enough for one pass. Runs of 256 bytes stream as well as longer ones from memory, and
// better than few groups do (H200, 2026-11: 1.07 GB in 0.247 ms by 256 groups, in 0.29 ms by 128 groups of 512 bytes,
// in 0.265 ms by 512 groups of 128 bytes).
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
    constexpr std::int64_t small = std::int64_t(4) << 20;  // bytes, whose reading takes less than a second pass
    const auto units = std::max<std::int64_t>(at.device.compute_units, 1);
    const auto cols = at.size("cols"), rows = at.size("rows"), local = at.parameter("LOCAL");
    // Nearly half of the work-items that a compute unit of today's GPUs holds: each has many bytes on their way.
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
    const auto parts = quotient_up(at.parameter("ITEMS"), std::max<std::int64_t>(strips, 1));
    return parts_of(at, strips, may_split ? parts : 1, at.parameter("ROWS"));
}

Rule group_fits() {
    return {true, [](const Case& at) {
                const auto wanted = at.parameter("LOCAL_X") * given(at, "LOCAL_Y", 1);
                return wanted <= static_cast<std::int64_t>(at.device.max_work_group_size)
                           ? std::string()
                           : "a work-group of " + std::to_string(wanted) + "; " + at.device.name + " allows " +
                                 std::to_string(at.device.max_work_group_size);
            }};
}
std::function<std::int64_t(const Case&)> staged_and_sums(std::int64_t columns_each) {
    return [columns_each](const Case& at) {
        return at.parameter("LOCAL_X") * given(at, "LOCAL_Y", 1) * (1 + columns_each) * at.element_bytes();
    };
}
std::int64_t sums_of_a_group(const Case& at) {
    return at.parameter("LOCAL") * at.parameter("WIDTH") * at.element_bytes();
}

std::function<std::int64_t(const Case&)> columns(std::int64_t count) {
    return [count](const Case&) { return count; };
}
std::int64_t vector_width(const Case& at) { return at.parameter("WIDTH"); }

double once_a_strip(const Case& at, const TmvGrid& grid) {
    return double(grid.strips) / double(std::max<std::int64_t>(at.size("cols"), 1));
}
double once_a_vector(const Case& at, const TmvGrid&) { return 1 / double(at.parameter("WIDTH")); }
double each(const Case&, const TmvGrid&) { return 1; }
double every_second(const Case&, const TmvGrid&) { return 0.5; }
double none(const Case&, const TmvGrid&) { return 0; }

const std::vector<TmvVariant>& table() {
    static const std::vector<TmvVariant> rows = {
        {{"naive",
          "a column a work-item, v staged in local memory",
          {across},
          columns_by_rows,
          {group_fits(), needs_local_bytes(staged_and_sums(0))}},
         columns(1),
         strips_of_a_group(1),
         once_a_strip,
         each},
        {{"f2",
          "the same, two columns a work-item by float2",
          {across},
          columns_by_rows,
          {group_fits(), needs_local_bytes(staged_and_sums(0))}},
         columns(2),
         strips_of_a_group(2),
         once_a_strip,
         every_second},
        {{"tlp",
          "a column over LOCAL_Y work-items, whose sums are added at the end",
          {shared_across, down},
          columns_by_rows,
          {group_fits(), needs_local_bytes(staged_and_sums(1))}},
         columns(1),
         strips_of_a_group(1),
         once_a_strip,
         each},
        {{"tlp_f2",
          "two columns by float2 over LOCAL_Y work-items",
          {shared_across, down},
          columns_by_rows,
          {group_fits(), needs_local_bytes(staged_and_sums(2))}},
         columns(2),
         strips_of_a_group(2),
         once_a_strip,
         every_second},
        {{"row_parts",
          "wide loads, several rows under way a work-item, work-groups split rows until the device is full",
          {{"LOCAL", {128, 256, 512, 1024}, 512, "work-items in a work-group"},
           {"WIDTH", {1, 2, 4}, 4, "columns a work-item"},
           {"UNROLL", {2, 4, 8, 16}, 8, "rows under way a work-item"},
           {"ACROSS", {0, 2, 4, 8, 16, 32, 64, 128}, 0, "work-items across a work-group; 0: by the shape of A"},
           {"PARTS", {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}, 0, "parts of the rows; 0: as many as fill the device"}},
          line_of_items,
          {work_group_fits("LOCAL"), needs_local_bytes(sums_of_a_group)}},
         vector_width,
         filling_the_device,
         once_a_vector,
         none},
        {{"row_blocks",
          "few work-items, explicit vectors; the sums of a strip of columns stay in cache while its rows pass",
          {{"WIDTH", {4, 8, 16}, 16, "columns in an explicit vector"},
           {"ROWS", {2, 4, 8, 16}, 8, "rows added at once"},
           {"STRIP", {512, 1024, 2048, 4096, 8192}, 4096, "columns whose sums are kept, at most"},
           {"ITEMS", {2, 4, 8, 16, 64}, 8, "work-items, at least; rows are split where strips are fewer"}},
          one_chunk_per_item,
          {}},
         vector_width,
         few_strips,
         once_a_strip,
         none},
    };
    return rows;
}

}  // namespace

const Workload& tmv_workload() {
    static const Workload workload = [] {
        Workload result{"tmv", {DType::f32, DType::f64}, {}};
        for (const auto& row : table()) result.variants.push_back(&row);
        return result;
    }();
    return workload;
}

}  // namespace gpuopt
