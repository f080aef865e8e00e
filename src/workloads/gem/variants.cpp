// The table of GEM variants: adding one is a row here and kernels/gem/<name>.cl.
#include "workloads/gem/gem.hpp"

namespace gpuopt {
namespace {

const Parameter local_size{"LOCAL", {64, 128, 256, 512, 1024}, 256, "work-items in a work-group"};
const Parameter rsqrt{"RSQRT",
                      {0, 1, 2, 3},
                      1,
                      "reciprocal root: 1/sqrt (0), native (1), the unit's own without care for denormals (2, PTX), "
                      "estimate and Newton steps (3)"};

Launch vertex_a_work_item(const Case& at) { return launch_1d(at.size("count"), at.parameter("LOCAL")); }
Launch vertices_a_work_item(const Case& at) {
    const auto local = at.parameter("LOCAL");
    const auto groups = quotient_up(at.size("count"), local * at.parameter("VERTICES"));
    return launch_2d({groups * local, at.size("parts")}, local, 1);
}
Launch rows_of_vectors(const Case& at) {
    return launch_1d(quotient_up(at.size("count"), at.parameter("ROWS") * at.parameter("WIDTH")), 1);
}

Rule root_is_there() {
    return needs_ptx("RSQRT=2 and 4 are",
                     [](const Case& at) { return at.parameter("RSQRT") == 2 || at.parameter("RSQRT") == 4; });
}
Rule root_is_of_floats() {
    return constraint(
        [](const Case& at) {
            return at.dtype == DType::f32 || at.parameter("RSQRT") % 2 == 1 || at.parameter("RSQRT") == 0;
        },
        "RSQRT=2 and 4 are written for float32");
}

Rule texels_fit_an_image() {
    return {.of_device = true, .unmet = [](const Case& at) {
                if (at.parameter("ATOMS") < 2) return std::string();
                if (!at.device.image_support) return at.device.name + " has no images";
                return at.size("atoms") <= static_cast<std::int64_t>(at.device.image_buffer_max)
                           ? std::string()
                           : "an image of " + std::to_string(at.size("atoms")) + " texels; " + at.device.name +
                                 " allows " + std::to_string(at.device.image_buffer_max);
            }};
}

std::int64_t local_of_pairs(const Case& at) {
    const auto vertices = at.parameter("VERTEX") == 1 ? 8 : 0, atoms = at.parameter("ATOMS") % 2 == 1 ? 5 : 0;
    return (vertices + atoms) * at.parameter("LOCAL") * at.element_bytes();
}
std::int64_t local_of_tiles(const Case& at) {
    return at.parameter("STAGED") * at.parameter("TILE") * 6 * at.element_bytes();
}

// Longer than a function should be: it is the table, a row after the other.
const std::vector<GemVariant>& table() {
    const auto levels_of = [](const char* name) { return [name](const Case& at) { return at.parameter(name); }; };
    const auto form = levels_of("FORM"), math = levels_of("MATH"), width = levels_of("VECTOR"),
               atoms = levels_of("ATOMS");
    const auto minimal = [](const Case&) { return GemForm::minimal; };
    static const std::vector<GemVariant> rows = {
        {{
             .name = "pairs",
             .summary = "a vertex a work-item, all atoms in turn; the paper's optimizations as switches",
             .parameters =
                 {{"LOCAL", {64, 128, 256, 512, 1024}, 64, "work-items in a work-group (MT)"},
                  {"SPECIALIZED", {0, 1}, 0, "region, salt and part known to the compiler (KS)"},
                  {"REGISTER_SUM", {0, 1}, 0, "the sum in a register, not in global memory (RA)"},
                  {"VERTEX", {0, 1, 2}, 0, "a vertex lives in global (0), local (1, LM) or private (2, RP) memory"},
                  {"ATOMS",
                   {0, 1, 2, 3},
                   0,
                   "atoms from global memory (0), staged in local (1, LM), from an image (2, IM), both (3)"},
                  {"UNROLL", {1, 2, 4}, 1, "steps of the loop written out (LU)"},
                  {"VECTOR", {1, 2, 4}, 1, "scalars a load (VASM where MATH=0)"},
                  {"MATH", {0, 1}, 0, "so many atoms are computed together (VAVM)"},
                  {"FORM",
                   {0, 1},
                   0,
                   "the model's formulas as written (0), or what does not depend on the pair taken out (1)"},
                  {"RSQRT", {0, 1, 2, 3}, 0, rsqrt.meaning}},
             .launch = vertex_a_work_item,
             .rules = {constraint([=](const Case& at) { return math(at) == 0 || width(at) > 1; },
                                  "MATH=1 needs VECTOR=2 or 4"),
                       constraint([=](const Case& at) { return atoms(at) < 2 || width(at) == 1 || width(at) == 4; },
                                  "an image's texels are 4 wide: no VECTOR=2"),
                       constraint([=](const Case& at) { return form(at) == 0 || at.parameter("SPECIALIZED") == 1; },
                                  "FORM=1 is made for one region: it needs SPECIALIZED=1"),
                       constraint([=](const Case& at) { return form(at) == 1 || at.parameter("RSQRT") == 0; },
                                  "FORM=0 has no reciprocal root: RSQRT=0"),
                       constraint([=](const Case& at) { return at.parameter("RSQRT") != 2 || math(at) == 0; },
                                  "RSQRT=2 is written for scalars: MATH=0"),
                       constraint([=](const Case& at) { return at.dtype == DType::f32 || atoms(at) < 2; },
                                  "images hold float32 alone"),
                       root_is_of_floats(), root_is_there(), texels_fit_an_image(), work_group_fits("LOCAL"),
                       needs_local_bytes(local_of_pairs)},
         },
         {
             .form = [=](const Case& at) { return form(at) == 0 ? GemForm::literal : GemForm::minimal; },
             .by_component = [=](const Case& at) { return math(at) == 1; },
             // Tiles of a work-group, or what is written out; at least the four of a texel.
             .step = [=](const Case& at) { return atoms(at) % 2 == 1 ? at.parameter("LOCAL") : std::int64_t(16); },
         }},
        {{
             .name = "tiled",
             .summary = "several vertices a work-item share each atom's load; work-groups may split the atoms",
             .parameters = {{"LOCAL", {64, 128, 256, 512}, 128, local_size.meaning},
                            {"VERTICES", {1, 2, 4, 8}, 4, "vertices a work-item"},
                            {"STAGED", {0, 1}, 1, "tiles of atoms in local memory (1) or read through the caches (0)"},
                            {"TILE", {64, 128, 256, 512, 1024}, 256, "atoms in a tile"},
                            {"DISTANCE",
                             {0, 1, 2},
                             0,
                             "differences (0), expanded about the molecule's centre (1) or each tile's (2)"},
                            {"RSQRT",
                             {0, 1, 2, 3, 4, 5},
                             5,
                             rsqrt.meaning +
                                 "; 5: native and a Newton step; 4: as 2, but one of 4 VERTICES roots by Newton steps"},
                            {"BLOCKED", {0, 1}, 1, "a sum a tile, then the sum of those (1), or one running sum (0)"},
                            {"UNROLL", {1, 2, 4, 8}, 2, "groups of four atoms whose terms are written out"},
                            {"PARTS",
                             {0, 1, 2, 4, 8, 16, 32, 64, 128},
                             0,
                             "work-groups that split the atoms; 0: as fill the device"}},
             .launch = vertices_a_work_item,
             .rules = {work_group_fits("LOCAL"), root_is_of_floats(), root_is_there(),
                       needs_local_bytes(local_of_tiles)},
         },
         {
             .form = minimal,
             .step = levels_of("TILE"),
             .parts = true,
         }},
        {{
             .name = "wide",
             .summary = "few work-items, explicit vectors of vertices; for CPUs",
             .parameters = {{"WIDTH", {4, 8, 16}, 16, "vertices in an explicit vector"},
                            {"ROWS", {1, 2, 4, 8}, 4, "vectors a work-item"},
                            {"RSQRT", {0, 1, 3, 5}, 3, rsqrt.meaning + "; 5: native and a Newton step"}},
             .launch = rows_of_vectors,
             .rules = {root_is_of_floats(), root_is_there()},
         },
         {
             .form = minimal,
             .step = [](const Case&) { return std::int64_t(1); },
         }},
    };
    return rows;
}

}  // namespace

std::int64_t GemVariant::vertices_a_group(const Case& at) const {
    std::int64_t vertices = 1;
    for (const auto* name : {"LOCAL", "VERTICES", "ROWS", "WIDTH"}) vertices *= at.parameter_or(name, 1);
    return vertices;
}

const Workload& gem_workload() {
    static const auto workload = workload_of("gem", {DType::f32, DType::f64}, table());
    return workload;
}

}  // namespace gpuopt
