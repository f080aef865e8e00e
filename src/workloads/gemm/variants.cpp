// The table of GEMM variants: adding one is a row here and kernels/gemm/<name>.cl.
#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

const Parameter local_x{"LOCAL_X", {16, 32, 64}, 16, "work-items of a group along a row of the result"};
const Parameter local_y{"LOCAL_Y", {1, 4, 16}, 16, "work-items of a group along a column of the result"};

// Work-items that compute `down` x `across` elements of the result each, in groups of X x Y.
std::function<Launch(const Case&)> blocks(std::int64_t across, const char* x, const char* y) {
    return [=](const Case& at) {
        Launch launch;
        launch.dimensions = 2;
        launch.local = {static_cast<std::size_t>(at.parameter(x)), static_cast<std::size_t>(at.parameter(y)), 1};
        const auto down = at.parameters.count("OUTPUTS") ? at.parameter("OUTPUTS") : 1;
        launch.global[0] =
            launch.local[0] * static_cast<std::size_t>(groups_of(at.size("N"), across * at.parameter(x)));
        launch.global[1] = launch.local[1] * static_cast<std::size_t>(groups_of(at.size("M"), down * at.parameter(y)));
        return launch;
    };
}

Launch columns(const Case& at) {
    auto launch = launch_1d(at.size("N"), at.parameter("LOCAL"));
    launch.global[1] = static_cast<std::size_t>(groups_of(at.size("M"), at.parameter("HEIGHT")));
    return launch;
}

using Bytes = std::map<std::string, double>;

double products(const Case& at) { return double(at.size("M")) * double(at.size("N")) * double(at.size("K")); }

Bytes two_loads(const Case& at) { return {{"requested", 2 * double(at.element_bytes()) * products(at)}}; }

// Of four steps, a float4 of A for each of `rows` rows and four of B for all of them.
Bytes float4_loads(const Case& at, std::int64_t rows) {
    const auto blocks = double(groups_of(at.size("M"), rows)) * double(groups_of(at.size("N"), 4));
    return {{"requested", double(at.element_bytes()) * double(rows + 4) * double(at.size("K")) * blocks}};
}

std::int64_t local_of_tile(const Case& at) {  // padded as for transposes
    const auto x = at.parameter("X"), y = at.parameter("Y");
    return at.element_bytes() * (x + y) * (x + 1);
}
// Loads of whole tiles; they are written to local memory, and read once by each work-item.
Bytes tiles(const Case& at) {
    const auto x = at.parameter("X"), y = at.parameter("Y");
    const auto a_group = double(x * y), steps = double(groups_of(at.size("K"), x)) * double(x);
    const auto groups = double(groups_of(at.size("M"), y)) * double(groups_of(at.size("N"), x));
    const auto element = double(at.element_bytes()), loads = double(x + y) * steps * groups;
    return {{"requested", element * loads}, {"local", element * (loads + 2 * a_group * steps * groups)}};
}

Rule group_fits(const char* x, const char* y) {
    return {true, [=](const Case& at) {
                const auto wanted = at.parameter(x) * at.parameter(y);
                return wanted <= static_cast<std::int64_t>(at.device.max_work_group_size)
                           ? std::string()
                           : "a work-group of " + std::to_string(wanted) + "; " + at.device.name + " allows " +
                                 std::to_string(at.device.max_work_group_size);
            }};
}

Rule panel_fits() {
    return {true, [](const Case& at) {
                const auto wanted = at.parameter("HEIGHT") * at.parameter("DEPTH") * at.element_bytes();
                return wanted <= static_cast<std::int64_t>(at.device.constant_bytes)
                           ? std::string()
                           : "a panel of " + std::to_string(wanted) + " bytes; " + at.device.name + " has " +
                                 std::to_string(at.device.constant_bytes) + " of constant memory";
            }};
}

// One program whatever the rows' alignment.
GemmVariant scalar_loads(GemmVariant row) {
    row.wide = false;
    return row;
}

const std::vector<GemmVariant>& table() {
    static const auto fits = group_fits("LOCAL_X", "LOCAL_Y");
    static const auto element = blocks(1, "LOCAL_X", "LOCAL_Y"), four_columns = blocks(4, "LOCAL_X", "LOCAL_Y");
    static const std::vector<GemmVariant> rows = {
        scalar_loads(
            {{"naive", "an element of the result a work-item", {local_x, local_y}, element, {fits}}, two_loads}),
        scalar_loads(
            {{"reduced", "the same with running pointers for its indices", {local_x, local_y}, element, {fits}},
             two_loads}),
        scalar_loads({{"unrolled",
                       "several steps of the sum written out, their loads first",
                       {{"UNROLL", {4, 8, 16}, 4, "steps of the sum at once"}, local_x, local_y},
                       element,
                       {fits}},
                      two_loads}),
        {{"vectorized",
          "four neighbouring elements a work-item, all loads four wide",
          {local_x, local_y},
          four_columns,
          {fits}},
         [](const Case& at) { return float4_loads(at, 1); }},
        {{"multiple_output",
          "several rows of four elements a work-item share what they load of B",
          {{"OUTPUTS", {4, 8}, 8, "rows of the result a work-item"}, local_x, local_y},
          four_columns,
          {fits}},
         [](const Case& at) { return float4_loads(at, at.parameter("OUTPUTS")); }},
        scalar_loads({{"tile",
                       "an element a work-item, tiles of A and B in local memory",
                       {{"X", {16, 32}, 16, "work-items of a group along a row of the result, and steps a tile"},
                        {"Y", {8, 16, 32}, 16, "work-items of a group along a column of the result"}},
                       blocks(1, "X", "Y"),
                       {multiple_of("X", "Y"), group_fits("X", "Y"), needs_local_bytes(local_of_tile)}},
                      tiles}),
        scalar_loads({{"constant",
                       "a column of the result a work-item, panels of A in constant memory",
                       {{"HEIGHT", {8, 16, 32}, 16, "elements of the result a work-item"},
                        {"DEPTH", {32, 64, 128, 256, 512}, 128, "steps of the sum a panel"},
                        {"TILES",
                         {0, 1},
                         0,
                         "tiles of HEIGHT rows a panel: as many as the constant buffer holds (0), or one (1)"},
                        {"UNROLL", {1, 4, 8}, 4, "elements of B a work-item has under way"},
                        {"LOCAL", {64, 128, 256}, 128, "work-items in a work-group"}},
                       columns,
                       {panel_fits(), work_group_fits("LOCAL")}},
                      bytes_of_constant,
                      build_constant}),
        gemm_register_tile(),
        gemm_packed(),
        gemm_tensor(),
    };
    return rows;
}

}  // namespace

const Workload& gemm_workload() {
    static const Workload workload = [] {
        Workload result{"gemm", {DType::f32, DType::f64}, {}};
        for (const auto& row : table()) result.variants.push_back(&row);
        return result;
    }();
    return workload;
}

}  // namespace gpuopt
