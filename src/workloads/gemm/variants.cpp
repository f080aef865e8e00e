// The table of GEMM variants: adding one is a row here and kernels/gemm/<name>.cl.
#include <algorithm>

#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

const Parameter local_x{"LOCAL_X", {16, 32, 64}, 16, "work-items of a group along a row of the result"};
const Parameter local_y{"LOCAL_Y", {1, 4, 16}, 16, "work-items of a group along a column of the result"};
const Parameter pairs{
    "PAIRS", {0, 1}, 0, "indices: one counter (0), or the paper's pairs of coordinates and steps (1)"};

// Work-items that compute `down` x `across` elements of the result each, in groups of X x Y.
std::function<Launch(const Case&)> blocks(std::int64_t across, const char* x, const char* y) {
    return [=](const Case& at) {
        const auto down = at.parameter_or("OUTPUTS", 1);
        return launch_2d({quotient_up(at.size("N"), across), quotient_up(at.size("M"), down)}, at.parameter(x),
                         at.parameter(y));
    };
}

Launch columns(const Case& at) {
    return launch_2d({at.size("N"), quotient_up(at.size("M"), at.parameter("HEIGHT"))}, at.parameter("LOCAL"), 1);
}

using Bytes = std::map<std::string, double>;

double products(const Case& at) { return double(at.size("M")) * double(at.size("N")) * double(at.size("K")); }

bool texture(const Case& at) { return at.parameter("TEXTURE") == 1; }
// What the passes that fill images of A and B read and write.
double to_images(const Case& at) {
    const auto elements = double(at.size("K")) * (double(at.size("M")) + double(at.size("N")));
    return texture(at) ? 2 * double(at.element_bytes()) * elements : 0;
}

Bytes two_loads(const Case& at) {
    return {{"requested", 2 * double(at.element_bytes()) * products(at) + to_images(at)}};
}
// Those of B alone: work-items side by side fetch one texel of A, which texture units serve at once. With both counted,
// steps ran at 1.97 times their bound (H200, 2026-11).
Bytes fetches_of_b(const Case& at) { return texture(at) ? Bytes{{"fetch", products(at)}} : Bytes{}; }

// Four steps of k load a float4 of A for each of `rows` rows, and four float4 of B.
std::int64_t rows_of(const Case& at) { return at.parameter_or("OUTPUTS", 1); }
double blocks_of_rows(const Case& at) {
    return double(quotient_up(at.size("M"), rows_of(at))) * double(quotient_up(at.size("N"), 4));
}
Bytes float4_loads(const Case& at) {
    const auto each = double(at.element_bytes()) * double(rows_of(at) + 4);
    return {{"requested", each * double(at.size("K")) * blocks_of_rows(at) + to_images(at)}};
}
Bytes float4_fetches_of_b(const Case& at) {
    return texture(at) ? Bytes{{"fetch", 4 * double(quotient_up(at.size("K"), 4)) * blocks_of_rows(at)}} : Bytes{};
}

std::function<void(GemmPlanner&)> fetching(int elements_a_texel) {
    return [=](GemmPlanner& planner) { build_fetching(planner, elements_a_texel); };
}

std::int64_t local_of_tile(const Case& at) {  // padded as for transposes
    const auto x = at.parameter("X"), y = at.parameter("Y");
    return at.element_bytes() * (x + y) * (x + 1);
}
// What lies inside of A and B is loaded once for each tile of the result; whole tiles are written to local memory. For
// a step of k, the work-items of a subgroup then read elements of A in as many rows as they lie in, and X of B.
Bytes tiles(const Case& at) {
    const auto x = at.parameter("X"), y = at.parameter("Y"), lanes = std::min(at.lanes(), x * y);
    const auto m = double(at.size("M")), n = double(at.size("N")), k = double(at.size("K"));
    const auto down = double(quotient_up(at.size("M"), y)), across = double(quotient_up(at.size("N"), x));
    const auto steps = double(quotient_up(at.size("K"), x)) * double(x), subgroups = double(x * y) / double(lanes);
    const auto reads = subgroups * double(std::max<std::int64_t>(lanes / x, 1) + std::min(lanes, x));
    return {{"requested", double(at.element_bytes()) * (m * k * across + k * n * down)},
            {"local", double(at.element_bytes()) * (double(x + y) + reads) * steps * down * across}};
}

Rule panel_fits() {
    return {.of_device = true, .unmet = [](const Case& at) {
                const auto wanted = at.parameter("HEIGHT") * at.parameter("DEPTH") * at.element_bytes();
                return wanted <= static_cast<std::int64_t>(at.device.constant_bytes)
                           ? std::string()
                           : "a panel of " + std::to_string(wanted) + " bytes; " + at.device.name + " has " +
                                 std::to_string(at.device.constant_bytes) + " of constant memory";
            }};
}

// Longer than a function should be: it is the table, a row after the other.
const std::vector<GemmVariant>& table() {
    static const auto fetching_rules = [] {
        auto rules = texture_rules();
        rules.push_back(work_group_fits("LOCAL_X", "LOCAL_Y"));
        return rules;
    }();
    static const auto element = blocks(1, "LOCAL_X", "LOCAL_Y"), four_columns = blocks(4, "LOCAL_X", "LOCAL_Y");
    static const std::vector<GemmVariant> rows = {
        {{
             .name = "naive",
             .summary = "an element of the result a work-item",
             .parameters = {pairs, local_x, local_y, texture_parameter()},
             .launch = element,
             .rules = fetching_rules,
         },
         {
             .bytes = two_loads,
             .build = fetching(1),
             .special = fetches_of_b,
             .wide = false,
         }},
        {{
             .name = "reduced",
             .summary = "the same with both indices in one vector",
             .parameters = {local_x, local_y, texture_parameter()},
             .launch = element,
             .rules = fetching_rules,
         },
         {
             .bytes = two_loads,
             .build = fetching(1),
             .special = fetches_of_b,
             .wide = false,
         }},
        {{
             .name = "unrolled",
             .summary = "several steps of the sum written out, their loads first",
             .parameters =
                 {{"UNROLL", {4, 8, 16}, 4, "steps of the sum at once"}, pairs, local_x, local_y, texture_parameter()},
             .launch = element,
             .rules = fetching_rules,
         },
         {
             .bytes = two_loads,
             .build = fetching(1),
             .special = fetches_of_b,
             .wide = false,
         }},
        {{
             .name = "vectorized",
             .summary = "four neighbouring elements a work-item, all loads four wide",
             .parameters = {local_x, local_y, texture_parameter()},
             .launch = four_columns,
             .rules = fetching_rules,
         },
         {
             .bytes = float4_loads,
             .build = fetching(4),
             .special = float4_fetches_of_b,
         }},
        {{
             .name = "multiple_output",
             .summary = "several rows of four elements a work-item share what they load of B",
             .parameters =
                 {{"OUTPUTS", {4, 8}, 8, "rows of the result a work-item"}, local_x, local_y, texture_parameter()},
             .launch = four_columns,
             .rules = fetching_rules,
         },
         {
             .bytes = float4_loads,
             .build = fetching(4),
             .special = float4_fetches_of_b,
         }},
        {{
             .name = "tile",
             .summary = "an element a work-item, tiles of A and B in local memory",
             .parameters = {{"X", {16, 32}, 16, "work-items of a group along a row of the result, and steps a tile"},
                            {"Y", {8, 16, 32}, 16, "work-items of a group along a column of the result"}},
             .launch = blocks(1, "X", "Y"),
             .rules = {multiple_of("X", "Y"), work_group_fits("X", "Y"), needs_local_bytes(local_of_tile)},
         },
         {
             .bytes = tiles,
             .wide = false,
         }},
        {{
             .name = "constant",
             .summary = "a column of the result a work-item, panels of A in constant memory",
             .parameters = {{"HEIGHT", {8, 16, 32}, 16, "elements of the result a work-item"},
                            {"DEPTH", {32, 64, 128, 256, 512}, 128, "steps of the sum a panel"},
                            {"TILES",
                             {0, 1},
                             0,
                             "tiles of HEIGHT rows a panel: as many as the constant buffer holds (0), or one (1)"},
                            {"UNROLL", {1, 4, 8}, 4, "elements of B a work-item has under way"},
                            {"QUEUES",
                             {0, 1, 2},
                             0,
                             "panels read where they lie (0), copied to one constant buffer (1), or in turn to two, "
                             "each with a queue of its own (2)"},
                            {"LOCAL", {64, 128, 256}, 128, "work-items in a work-group"}},
             .launch = columns,
             .rules = {panel_fits(), work_group_fits("LOCAL")},
         },
         {
             .bytes = bytes_of_constant,
             .build = build_constant,
             .wide = false,
         }},
        gemm_register_tile(),
        gemm_thin(),
        gemm_vector(),
        gemm_packed(),
        gemm_tensor(),
    };
    return rows;
}

}  // namespace

const Workload& gemm_workload() {
    static const auto workload = workload_of(
        "gemm", {DType::f32, DType::f64}, table(),
        {{"M", 4096}, {"N", 4096}, {"K", 4096}, {"batch", 1}, {"addend", 0}, {"transpose_a", 0}, {"transpose_b", 0}});
    return workload;
}

}  // namespace gpuopt
