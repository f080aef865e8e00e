// Plans of the variant that reads A from constant memory: one pass transposes all of A, panel by panel; then each
// launch gets a panel as its constant buffer, without a copy between launches.
#include <algorithm>

#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

constexpr std::int64_t most_launches = 1 << 16;  // of a plan; each holds a kernel object
constexpr std::int64_t most_bytes =
    1 << 16;  // of constant memory on GPUs; some CPUs report all of their memory as constant

std::int64_t tiles_a_panel(const Case& at) {
    if (at.parameter("TILES") == 1) return 1;
    const auto room = std::min(most_bytes, static_cast<std::int64_t>(at.device.constant_bytes));
    const auto tile = at.parameter("HEIGHT") * at.parameter("DEPTH") * at.element_bytes();
    return std::max<std::int64_t>(1, std::min(room / tile, quotient_up(at.size("M"), at.parameter("HEIGHT"))));
}

}  // namespace

std::map<std::string, double> bytes_of_constant(const Case& at) {
    const auto m = double(at.size("M")), n = double(at.size("N")), k = double(at.size("K"));
    const auto element = double(at.element_bytes()), height = double(at.parameter("HEIGHT"));
    const auto rows = double(quotient_up(at.size("M"), at.parameter("HEIGHT")));
    const auto panels = double(quotient_up(at.size("K"), at.parameter("DEPTH")));
    return {{"requested", element * (k * n * rows + m * n * (2 * panels - 1 + double(at.size("addend"))) + 2 * m * k)},
            {"constant", element * k * n * rows * height}};
}

void build_constant(GemmPlanner& planner) {
    const auto& at = planner.at();
    const auto height = at.parameter("HEIGHT"), depth = at.parameter("DEPTH"), tiles = tiles_a_panel(at);
    const auto whole = planner.whole();
    const auto matrices = whole.a.batch == 0 ? std::int64_t(1) : whole.batch;
    const auto down = quotient_up(whole.m, tiles * height), across = quotient_up(whole.k, depth);
    if (down * across * matrices > most_launches)
        throw UnsupportedError(UnsupportedError::Because::constraint,
                               "gemm constant: A has " + std::to_string(down * across * matrices) +
                                   " panels, a launch each; take larger ones, or another variant");

    const auto panel = tiles * height * depth;
    auto packing = whole;
    packing.addend = Addend::none;
    packing.batch = matrices;
    packing.d = {planner.scratch(down * across * panel * matrices, "panels of A"), 0, down * across * panel, 0};
    const auto element_a_work_item = [&](const Sizes& sizes) {
        return launch_3d({packing.d.batch, 1, sizes.at("batch")}, 64, 1);
    };
    planner.in_parts(packing, element_a_work_item, [&](const GemmCall& part, const Launch& launch) {
        planner.pass("constant_panels", part, launch, {{"TILES", tiles}, {"HEIGHT", height}, {"DEPTH", depth}});
    });

    const auto columns = [&](const Sizes& sizes) { return planner.launch(sizes); };
    auto first = std::int64_t(0);
    for (std::int64_t matrix = 0; matrix < matrices; ++matrix)
        for (std::int64_t m = 0; m < whole.m; m += tiles * height)
            for (std::int64_t k = 0; k < whole.k; k += depth, first += panel) {
                const auto bytes = at.element_bytes();
                const auto constants = packing.d.buffer->part(static_cast<std::size_t>(first * bytes),
                                                              static_cast<std::size_t>(panel * bytes));
                planner.plan().keep(constants);
                auto call = whole;
                call.m = std::min(whole.m - m, tiles * height);
                call.k = std::min(whole.k - k, depth);
                if (whole.a.batch != 0) call.batch = 1;
                if (k > 0) call.addend = Addend::d;
                call.b.from += matrix * whole.b.batch + k * (planner.arguments().transpose_b ? 1 : whole.b.ld);
                call.c.from += matrix * whole.c.batch + m * whole.c.ld;
                call.d.from += matrix * whole.d.batch + m * whole.d.ld;
                planner.in_parts(call, columns, [&](const GemmCall& part, const Launch& launch) {
                    planner.multiply(part, launch);
                    planner.plan().arg(constants);
                });
            }
}

}  // namespace gpuopt
