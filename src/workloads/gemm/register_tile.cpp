// The variant whose work-items keep a block of the result in registers.
#include <algorithm>

#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

std::int64_t items_of(const Case& at) {
    return at.parameter("TILE_M") / at.parameter("WORK_M") * (at.parameter("TILE_N") / at.parameter("WORK_N"));
}

std::int64_t local_bytes(const Case& at) {
    // Four elements of padding where neighbours in memory differ in k and no pass has transposed the operand.
    const bool turned = at.parameter("PASS") == 1;
    const auto pad_a = turned || at.size("transpose_a") == 1 ? 0 : 4, pad_b = !turned && at.size("transpose_b") ? 4 : 0;
    return at.parameter("STAGES") * at.parameter("TILE_K") *
           (at.parameter("TILE_M") + pad_a + at.parameter("TILE_N") + pad_b) * at.element_bytes();
}

Launch tiles(const Case& at) {
    return launch_1d(quotient_up(at.size("M"), at.parameter("TILE_M")) *
                         quotient_up(at.size("N"), at.parameter("TILE_N")) * items_of(at),
                     items_of(at));
}

std::map<std::string, double> traffic(const Case& at) {
    const auto m = double(at.size("M")), n = double(at.size("N")), k = double(at.size("K"));
    const auto element = double(at.element_bytes());
    const auto down = double(quotient_up(at.size("M"), at.parameter("TILE_M"))),
               across = double(quotient_up(at.size("N"), at.parameter("TILE_N"))),
               steps = double(quotient_up(at.size("K"), at.parameter("TILE_K")) * at.parameter("TILE_K"));
    // Tiles are written whole. In a block of 4 x 8 work-items, those of a row (or a column) read the same address:
    // local memory serves it once.
    const auto subgroups = double(items_of(at)) / double(std::min(at.lanes(), items_of(at)));
    const auto written = double(at.parameter("TILE_M") + at.parameter("TILE_N")),
               read = subgroups * double(4 * at.parameter("WORK_M") + 8 * at.parameter("WORK_N"));
    return {{"requested", element * (m * k * across + k * n * down)},
            {"local", element * steps * down * across * (written + read)}};
}

// Makes an operand whose rows run along M or N, one row for each k, and begin at multiples of four elements. A pass
// transposes or copies it where it is not so already.
void turn(GemmPlanner& planner, const GemmCall& part, GemmMatrix& matrix, bool& k_side_by_side, std::int64_t across,
          const std::string& what) {
    constexpr std::int64_t wide = 4;  // elements that a kernel loads at once
    const bool aligned = matrix.ld % wide == 0 && matrix.batch % wide == 0 && matrix.from % wide == 0;
    const bool whole = planner.at().parameter("COPY") < 2 || across % wide == 0;  // pieces in each row
    if (!k_side_by_side && aligned && whole) return;
    GemmMatrix turned;
    turned.ld = quotient_up(across, wide) * wide;
    const auto matrices = matrix.batch == 0 ? 1 : part.batch;
    turned.batch = matrix.batch == 0 ? 0 : turned.ld * part.k;
    turned.buffer = planner.scratch(turned.ld * part.k * matrices, what);
    GemmCall call;
    call.a = call.b = matrix;
    call.d = turned;
    call.transpose_a = k_side_by_side;
    call.m = part.k;
    call.n = across;
    call.k = 1;
    call.batch = matrices;
    planner.asks_for(2 * double(part.k * across * matrices));
    const auto tiles = quotient_up(part.k, 32) * quotient_up(across, 32);
    planner.pass("k_major", call, launch_3d({tiles * 32, 8, matrices}, 32, 8));
    matrix = turned;
    k_side_by_side = false;
}

void build(GemmPlanner& planner) {
    planner.in_parts(
        planner.whole(), [&](const Sizes& sizes) { return planner.launch(sizes); },
        [&](const GemmCall& part, const Launch& launch) {
            auto call = part;
            if (planner.at().parameter("PASS") == 1) {
                bool a_along_k = !call.transpose_a;
                turn(planner, part, call.a, a_along_k, part.m, "A, turned");
                turn(planner, part, call.b, call.transpose_b, part.n, "B, turned");
                call.transpose_a = !a_along_k;
            }
            planner.multiply_in_parts_of_k(call, launch, planner.parts_of_k(call, launch),
                                           planner.at().parameter("TILE_K"));
        });
}

// At its higher levels, NVIDIA's compiler takes the multiply-adds out of the order that the kernel gives them: 51
// instead of 54 TFLOP/s (H200, 8192^3).
std::string order_stays(const Case& at) { return at.parameter("COPY") >= 1 ? " -cl-nv-opt-level=1" : ""; }

Rule tiles_divide() {
    return {.of_device = false, .unmet = [](const Case& at) {
                const auto items = items_of(at);
                if (at.parameter("TILE_M") % (4 * at.parameter("WORK_M")) != 0)
                    return std::string("TILE_M must be a multiple of 4 WORK_M");
                if (at.parameter("TILE_N") % (8 * at.parameter("WORK_N")) != 0)
                    return std::string("TILE_N must be a multiple of 8 WORK_N");
                for (const auto* side : {"TILE_M", "TILE_N"})
                    if (at.parameter(side) * at.parameter("TILE_K") % (4 * items) != 0)
                        return side + (" * TILE_K must be a multiple of the 4 * " + std::to_string(items)) +
                               " elements that the work-items copy at once";
                return std::string();
            }};
}
Rule sums_fit_registers() {
    return {.of_device = false, .unmet = [](const Case& at) {
                const auto bytes = at.parameter("WORK_M") * at.parameter("WORK_N") * at.element_bytes();
                return bytes <= 512
                           ? std::string()
                           : std::to_string(bytes) + " bytes of sums a work-item leave the registers; at most 512";
            }};
}
Rule copies_are_there() {
    return needs_ptx("COPY=1 and 2 are", 80, [](const Case& at) { return at.parameter("COPY") >= 1; });
}
Rule copies_are_of_floats() {
    return constraint([](const Case& at) { return at.parameter("COPY") == 0 || at.dtype == DType::f32; },
                      "COPY=1 and 2 are written for float32");
}
Rule whole_pieces_are_turned() {
    return constraint([](const Case& at) { return at.parameter("COPY") < 2 || at.parameter("PASS") == 1; },
                      "COPY=2 copies whole pieces at edges, which operands have with PASS=1");
}

}  // namespace

GemmVariant gemm_register_tile() {
    return {{
                .name = "register_tile",
                .summary =
                    "a work-item keeps WORK_M x WORK_N sums in registers; tiles of A and B pass through local memory",
                .parameters = {{"TILE_M", {32, 64, 128, 256}, 64, "rows of the result a work-group"},
                               {"TILE_N", {32, 64, 128, 256}, 64, "columns of the result a work-group"},
                               {"TILE_K", {8, 16, 32}, 16, "k between two meetings of a work-group"},
                               {"WORK_M", {4, 8, 16}, 4, "rows of the result a work-item"},
                               {"WORK_N", {4, 8, 16}, 4, "columns of the result a work-item"},
                               {"STAGES", {2, 3, 4}, 2, "tiles in local memory: one in use, others on their way"},
                               {"COPY",
                                {0, 1, 2},
                                0,
                                "tiles by registers (0), or copied past them meanwhile (1, PTX), at edges too (2)"},
                               {"PASS",
                                {0, 1},
                                0,
                                "operands as they lie (0), or with k from row to row, turned by a pass before (1)"},
                               {"ORDER", {0, 1}, 1, "a step's multiply-adds by rows or columns (0), or to and fro (1)"},
                               {"BAND", {1, 4, 8, 16}, 8, "rows of tiles whose work-groups run side by side"},
                               parts_of_k_parameter()},
                .launch = tiles,
                .rules = {tiles_divide(), work_group_fits(items_of), sums_fit_registers(), copies_are_there(),
                          copies_are_of_floats(), whole_pieces_are_turned(), needs_local_bytes(local_bytes)},
            },
            {
                .bytes = traffic,
                .build = build,
                .wide = true,
                .options = order_stays,
            }};
}

}  // namespace gpuopt
