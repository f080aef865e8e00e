// The variant for CPUs that multiplies a matrix by a vector, whose time is that of reading the matrix.
#include "workloads/gemm/sides.hpp"

namespace gpuopt {
namespace {

Launch lines_or_panels(const Case& at) {
    const auto sides = sides_of(at);
    const auto each = at.parameter(sides.beside ? "PANEL" : "LINES");
    return launch_1d(sides.shorter * quotient_up(sides.longer, each), 1);
}

std::map<std::string, double> traffic(const Case& at) {
    const auto sides = sides_of(at);
    const auto k = double(at.size("K")), shorter = double(sides.shorter), longer = double(sides.longer);
    const auto strips = double(quotient_up(sides.longer, at.parameter(sides.beside ? "PANEL" : "LINES")));
    return {{"requested", double(at.element_bytes()) * shorter * k * (longer + strips)}};
}

void build(GemmPlanner& planner) {
    build_streamed(planner, 64, [&](const GemmCall& part, const Launch&) {
        return part.batch > 1 ? 1 : planner.at().parameter("SPLIT");
    });
}

}  // namespace

GemmVariant gemm_vector() {
    return {{
                .name = "vector",
                .summary = "for CPUs, of a matrix and a vector: lines of dot products, or panels of columns whose sums "
                           "stay in a cache",
                .parameters =
                    {{"WIDTH", {4, 8, 16}, 16, "elements of an explicit vector"},
                     {"LINES", {1, 2, 4, 8}, 4, "lines of the longer side a work-item, where k lies side by side"},
                     {"PANEL", {256, 512, 1024, 2048}, 1024, "columns a work-item, where they lie side by side"},
                     {"SPLIT", {1, 2, 4, 8, 16, 32, 64, 128, 256}, 1, "parts of k, added by a pass"}},
                .launch = lines_or_panels,
                .rules = {for_cpus()},
            },
            {
                .bytes = traffic,
                .build = build,
                .wide = false,
                .options = [](const Case& at) { return std::string(" -DSWAP=") + (sides_of(at).swap ? "1" : "0"); },
            }};
}

}  // namespace gpuopt
