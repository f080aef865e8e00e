// The table of GEM variants: adding one is a row here and kernels/gem/<name>.cl.
#include <algorithm>

#include "workloads/gem/gem.hpp"

namespace gpuopt {
namespace {

const Parameter local_size{"LOCAL", {64, 128, 256, 512, 1024}, 256, "work-items in a work-group"};
constexpr std::int64_t atoms_a_step = 16;  // VECTOR=4, MATH=1 and UNROLL=4
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

// Local memory of `pairs`: a vertex and its shift, or an atom and its depth, a work-item.
std::int64_t local_of_an_item(const Case& at) {
    return ((at.parameter("VERTEX") == 1 ? 8 : 0) + (at.parameter("ATOMS") % 2 == 1 ? 5 : 0)) * at.element_bytes();
}

// LOCAL, or where it is 0 the largest power of two that the device's work-groups and its local memory allow; at least
// the atoms that one step of the loop may take.
std::int64_t items_of_pairs(const Case& at) {
    if (at.parameter("LOCAL") > 0) return at.parameter("LOCAL");
    auto most = static_cast<std::int64_t>(at.device.max_work_group_size);
    if (const auto item = local_of_an_item(at); item > 0)
        most = std::min(most, static_cast<std::int64_t>(at.device.local_bytes) / item);
    std::int64_t items = atoms_a_step;
    while (2 * items <= most) items *= 2;
    return items;
}
std::int64_t local_of_pairs(const Case& at) { return local_of_an_item(at) * items_of_pairs(at); }

Rule texels_fit_an_image() {
    return {.of_device = true, .unmet = [](const Case& at) {
                if (at.parameter("ATOMS") < 2) return std::string();
                if (!at.device.image_support) return at.device.name + " has no images";
                const auto texels = round_up(at.size("atoms"), atoms_a_step);
                const auto said = "an image of " + std::to_string(texels) + " texels; " + at.device.name + " allows ";
                if (at.parameter("ATOMS") < 4) {
                    const auto most = static_cast<std::int64_t>(at.device.image_buffer_max);
                    return texels <= most ? std::string() : said + std::to_string(most) + " on a buffer";
                }
                const auto most = at.device.image2d_max;
                const auto width = std::int64_t(1) << gem::log_width(texels);
                const bool fits = width <= static_cast<std::int64_t>(most[0]) &&
                                  quotient_up(texels, width) <= static_cast<std::int64_t>(most[1]);
                return fits ? std::string() : said + std::to_string(most[0]) + " x " + std::to_string(most[1]);
            }};
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
                 {{"LOCAL",
                   {0, 64, 128, 256, 512, 1024},
                   64,
                   "work-items in a work-group; 0: as many as the device takes (MT)"},
                  {"SPECIALIZED", {0, 1}, 0, "region, salt and part known to the compiler (KS)"},
                  {"REGISTER_SUM", {0, 1}, 0, "the sum in a register, not in global memory (RA)"},
                  {"VERTEX", {0, 1, 2}, 0, "a vertex lives in global (0), local (1, LM) or private (2, RP) memory"},
                  {"ATOMS",
                   {0, 1, 2, 3, 4, 5},
                   0,
                   "atoms from global memory (0), an image of one row (2) or of two dimensions (4, IM); 1, 3, 5: the "
                   "same staged in local memory"},
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
                       root_is_of_floats(), root_is_there(), texels_fit_an_image(), work_group_fits(items_of_pairs),
                       needs_local_bytes(local_of_pairs)},
         },
         {
             .form = [=](const Case& at) { return form(at) == 0 ? GemForm::literal : GemForm::minimal; },
             .by_component = [=](const Case& at) { return math(at) == 1 || (width(at) == 1 && atoms(at) < 2); },
             .step = [](const Case&) { return atoms_a_step; },
             .group = items_of_pairs,
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

namespace gem {

int log_width(std::int64_t texels) {
    int log = 0;
    while ((std::int64_t(1) << 2 * log) < texels) ++log;
    return log;
}

}  // namespace gem

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
