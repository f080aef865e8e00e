// The variant whose work-items keep a block of the result in registers.
#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

std::int64_t items_of(const Case& at) {
    return at.parameter("TILE_M") / at.parameter("WORK_M") * (at.parameter("TILE_N") / at.parameter("WORK_N"));
}

std::int64_t local_bytes(const Case& at) {
    // A pad where k lies side by side in the operand and no pass has turned it.
    const bool turned = at.parameter("PASS") == 1;
    const auto pad_a = turned || at.size("transpose_a") == 1 ? 0 : 4, pad_b = !turned && at.size("transpose_b") ? 4 : 0;
    return at.parameter("STAGES") * at.parameter("TILE_K") *
           (at.parameter("TILE_M") + pad_a + at.parameter("TILE_N") + pad_b) * at.element_bytes();
}

Launch tiles(const Case& at) {
    return launch_1d(groups_of(at.size("M"), at.parameter("TILE_M")) * groups_of(at.size("N"), at.parameter("TILE_N")) *
                         items_of(at),
                     items_of(at));
}

std::map<std::string, double> traffic(const Case& at) {
    const auto m = double(at.size("M")), n = double(at.size("N")), k = double(at.size("K"));
    const auto element = double(at.element_bytes());
    // Of 4 x 8 neighbours, those of a row or a column read the same: a GPU's local memory serves them once.
    const auto rows_read = 4 * double(at.parameter("WORK_M")), columns_read = 8 * double(at.parameter("WORK_N"));
    return {
        {"requested", element * m * n * k * (1 / double(at.parameter("TILE_M")) + 1 / double(at.parameter("TILE_N")))},
        {"local", element * m * n * k * (1 / rows_read + 1 / columns_read)}};
}

// The operand with k from row to row and rows that begin at multiples of four elements: as it is, or turned by a pass.
void turn(GemmPlanner& planner, const GemmCall& part, GemmMatrix& matrix, bool& k_side_by_side, std::int64_t across,
          const std::string& what) {
    constexpr std::int64_t wide = 4;  // elements that a kernel loads at once
    const bool aligned = matrix.ld % wide == 0 && matrix.batch % wide == 0 && matrix.from % wide == 0;
    if (!k_side_by_side && aligned) return;
    GemmMatrix turned;
    turned.ld = groups_of(across, wide) * wide;
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
    Launch launch;
    launch.dimensions = 3;
    launch.local = {32, 8, 1};
    launch.global = {static_cast<std::size_t>(groups_of(part.k, 32) * groups_of(across, 32) * 32), 8,
                     static_cast<std::size_t>(matrices)};
    planner.pass("k_major", call, launch);
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
            planner.in_parts_of_k(call, planner.parts_of_k(call, launch), planner.at().parameter("TILE_K"),
                                  [&](GemmCall of_k) {
                                      auto shape = launch;
                                      shape.global[2] = static_cast<std::size_t>(of_k.batch);
                                      if (of_k.k < call.k) {
                                          of_k.a.batch = of_k.k * (of_k.transpose_a ? of_k.a.ld : 1);
                                          of_k.b.batch = of_k.k * (of_k.transpose_b ? 1 : of_k.b.ld);
                                      }
                                      planner.multiply(of_k, shape);
                                  });
        });
}

// At its higher levels, NVIDIA's compiler takes the multiply-adds out of the order that the kernel gives them: 51
// instead of 54 TFLOP/s (H200, 8192^3).
std::string order_stays(const Case& at) { return at.parameter("COPY") == 1 ? " -cl-nv-opt-level=1" : ""; }

Rule tiles_divide() {
    return {false, [](const Case& at) {
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
Rule group_fits() {
    return {true, [](const Case& at) {
                const auto items = items_of(at);
                return items <= static_cast<std::int64_t>(at.device.max_work_group_size)
                           ? std::string()
                           : "a work-group of " + std::to_string(items) + "; " + at.device.name + " allows " +
                                 std::to_string(at.device.max_work_group_size);
            }};
}
Rule sums_fit_registers() {
    return {false, [](const Case& at) {
                const auto bytes = at.parameter("WORK_M") * at.parameter("WORK_N") * at.element_bytes();
                return bytes <= 512
                           ? std::string()
                           : std::to_string(bytes) + " bytes of sums a work-item leave the registers; at most 512";
            }};
}
Rule copies_are_there() {
    return {true, [](const Case& at) {
                return at.parameter("COPY") == 0 || at.device.is_nvidia()
                           ? std::string()
                           : "COPY=1 is written in PTX; " + at.device.name + " does not read it";
            }};
}
Rule copies_are_of_floats() {
    return {false, [](const Case& at) {
                return at.parameter("COPY") == 0 || at.dtype == DType::f32
                           ? std::string()
                           : std::string("COPY=1 is written for float32");
            }};
}

}  // namespace

GemmVariant gemm_register_tile() {
    return {{"register_tile",
             "a work-item keeps WORK_M x WORK_N sums in registers; tiles of A and B pass through local memory",
             {{"TILE_M", {32, 64, 128, 256}, 64, "rows of the result a work-group"},
              {"TILE_N", {32, 64, 128, 256}, 64, "columns of the result a work-group"},
              {"TILE_K", {8, 16, 32}, 16, "k between two meetings of a work-group"},
              {"WORK_M", {4, 8, 16}, 4, "rows of the result a work-item"},
              {"WORK_N", {4, 8, 16}, 4, "columns of the result a work-item"},
              {"STAGES", {2, 3, 4}, 2, "tiles in local memory: one in use, others on their way"},
              {"COPY", {0, 1}, 0, "tiles through registers (0), or copied past them while others compute (1, PTX)"},
              {"PASS", {0, 1}, 0, "operands as they lie (0), or with k from row to row, turned by a pass before (1)"},
              {"ORDER", {0, 1}, 1, "a step's multiply-adds by rows or columns (0), or to and fro (1)"},
              {"BAND", {1, 4, 8, 16}, 8, "rows of tiles whose work-groups run side by side"},
              parts_of_k_parameter()},
             tiles,
             {tiles_divide(), group_fits(), sums_fit_registers(), copies_are_there(), copies_are_of_floats(),
              needs_local_bytes(local_bytes)}},
            traffic,
            build,
            {},
            true,
            order_stays};
}

}  // namespace gpuopt
