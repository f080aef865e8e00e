// The variant for CPUs, which packs its operands.
#include <algorithm>
#include <limits>

#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

constexpr std::int64_t packed_at_once = 8;  // panels of A by a work-item of the pass

std::int64_t columns_of(const Case& at) { return at.parameter("VECTORS") * at.parameter("WIDTH"); }
std::int64_t local_bytes(const Case& at) {
    return at.parameter("PANELS") * at.parameter("DEPTH") * columns_of(at) * at.element_bytes();
}

// How many blocks the result is divided into; one work-item computes one block.
struct Blocks {
    std::int64_t down, across;
};

// As many blocks as ITEMS asks for, if there are enough tiles, in the shape that is estimated to finish first.
// Packing its part of B costs a block as much as 20 more rows, and reading A as much as 16 more columns (2-core Xeon).
Blocks blocks_of(const Case& at) {
    const auto rows = at.parameter("ROWS"), columns = columns_of(at), batch = at.size("batch");
    const auto tiles_down = std::max<std::int64_t>(quotient_up(at.size("M"), rows), 1);
    const auto tiles_across = std::max<std::int64_t>(quotient_up(at.size("N"), columns), 1);
    const auto units = std::max<std::int64_t>(at.device.compute_units, 1), wanted = units * at.parameter("ITEMS");
    const auto fewest_across = quotient_up(tiles_across, at.parameter("PANELS"));
    Blocks best{1, fewest_across};
    double least = std::numeric_limits<double>::infinity();
    const auto most_across = std::min(tiles_across, std::max(fewest_across, wanted));
    for (auto across = fewest_across; across <= most_across; ++across) {
        const auto fewest_down = std::min(tiles_down, quotient_up(wanted, across * std::max<std::int64_t>(batch, 1)));
        for (auto down = fewest_down; down <= std::min(tiles_down, 2 * fewest_down); ++down) {
            const auto turns = double(quotient_up(across * down * batch, units));
            const auto time = turns * double(quotient_up(tiles_down, down) * rows + 20) *
                              double(quotient_up(tiles_across, across) * columns + 16);
            if (time < least) least = time, best = {down, across};
        }
    }
    return best;
}

Launch blocks(const Case& at) {
    const auto found = blocks_of(at);
    return launch_1d(found.down * found.across, 1);
}

std::map<std::string, double> traffic(const Case& at) {
    const auto m = double(at.size("M")), n = double(at.size("N")), k = double(at.size("K"));
    const auto element = double(at.element_bytes()), columns = double(columns_of(at));
    const auto panels_of_a = double(quotient_up(at.size("M"), at.parameter("ROWS")));
    const auto panels_of_b = double(quotient_up(at.size("N"), columns_of(at)));
    const auto parts = double(quotient_up(at.size("K"), at.parameter("DEPTH")));
    const auto copied = k * n * double(blocks_of(at).down);
    const auto of_a = panels_of_a * double(at.parameter("ROWS")) * k;
    const auto packing = at.parameter("PASS") == 1 ? m * k + of_a : 0;
    return {{"requested", element * (packing + of_a * panels_of_b + copied + m * n * 2 * (parts - 1))},
            {"local", element * (copied + panels_of_a * panels_of_b * columns * k)}};
}

void multiply(GemmPlanner& planner, const GemmCall& call) {
    const auto& at = planner.at();
    planner.in_parts(
        call, [&](const Sizes& sizes) { return planner.launch(sizes); },
        [&](const GemmCall& part, const Launch& launch) {
            planner.multiply(part, launch);
            auto sizes = at.sizes;
            sizes["batch"] = part.batch;
            planner.plan().arg(cl_int(blocks_of({at.device, at.dtype, sizes, at.parameters}).down));
        });
}

void build(GemmPlanner& planner) {
    const auto& at = planner.at();
    const auto rows = at.parameter("ROWS");
    auto call = planner.whole(), packing = call;
    if (at.parameter("PASS") == 0) return multiply(planner, call);
    const auto panels = quotient_up(call.m, rows);
    packing.addend = Addend::none;
    if (call.a.batch == 0) packing.batch = 1;
    packing.d = {};
    packing.d.batch = panels * rows * call.k;
    packing.d.buffer = planner.scratch(packing.d.batch * packing.batch, "panels of A");
    const auto passes = [&](const Sizes& sizes) {
        return launch_3d({quotient_up(panels, packed_at_once), 1, sizes.at("batch")}, 1, 1);
    };
    planner.in_parts(packing, passes, [&](const GemmCall& part, const Launch& launch) {
        planner.pass("pack_a", part, launch,
                     {{"ROWS", rows}, {"DEPTH", at.parameter("DEPTH")}, {"EACH", packed_at_once}});
    });

    call.a = packing.d;
    if (packing.batch == 1) call.a.batch = 0;
    call.transpose_a = false;
    multiply(planner, call);
}

}  // namespace

GemmVariant gemm_packed() {
    return {{
                .name = "packed",
                .summary = "few work-items with tiles of sums in registers; panels of B in local memory, of A by a "
                           "pass or as it lies",
                .parameters = {{"ROWS", {4, 6, 8, 12}, 6, "rows of a tile"},
                               {"VECTORS", {1, 2, 3, 4}, 2, "vectors across a tile"},
                               {"WIDTH", {4, 8, 16}, 8, "elements in an explicit vector"},
                               {"DEPTH", {128, 256, 512}, 256, "k of a part that is packed at once"},
                               {"PANELS", {1, 4, 8}, 4, "tiles across a block: panels of B in local memory"},
                               {"ITEMS", {1, 2, 4}, 2, "work-items a compute unit, at least"},
                               {"PASS", {0, 1}, 1, "A as it lies (0), or packed by a pass (1)"}},
                .launch = blocks,
                .rules = {needs_local_bytes(local_bytes)},
            },
            {
                .bytes = traffic,
                .build = build,
                .wide = false,
            }};
}

}  // namespace gpuopt
