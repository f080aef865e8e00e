// The variant for results that are narrow one way, whose time is that of reading the operand of their longer side.
#include <algorithm>

#include "workloads/gemm/sides.hpp"

namespace gpuopt {
namespace {

constexpr std::int64_t wide = 4;  // elements that a kernel loads at once

std::int64_t power_from(std::int64_t least, std::int64_t most, std::int64_t wanted) {
    auto found = least;
    while (found < most && found < wanted) found *= 2;
    return found;
}
// Work-items of a group along the longer side where its elements lie side by side; along k where those of k do.
std::int64_t across(const Case& at) { return power_from(16, 64, quotient_up(sides_of(at).longer, wide)); }
std::int64_t lanes_along_k(const Case& at) { return power_from(4, 32, quotient_up(at.size("K"), 2 * wide)); }
// k that lie in local memory at once: at most 16 KiB of float32. Parts of k are of whole such pieces, so they are short
// where a group has a strip of four columns a work-item, and few groups cover the longer side.
std::int64_t depth(const Case& at) {
    constexpr std::int64_t parts = 32;
    const auto most = std::min<std::int64_t>(512, 4096 / at.parameter("HOLD"));
    const auto k = at.size("K");
    if (sides_of(at).beside) return power_from(4 * at.parameter("LOCAL") / across(at), most, quotient_up(k, parts));
    return power_from(4 * lanes_along_k(at), most, k);
}
// Elements along the longer side of a group.
std::int64_t strip(const Case& at) {
    return sides_of(at).beside ? across(at) * wide : at.parameter("LOCAL") / lanes_along_k(at) * at.parameter("EACH");
}
std::int64_t local_bytes(const Case& at) {
    const auto local = at.parameter("LOCAL"), lanes = lanes_along_k(at), hold = at.parameter("HOLD");
    const auto sums = sides_of(at).beside ? local * wide
                                          : std::min(hold * at.parameter("EACH"), wide) * (local / lanes) * (lanes + 1);
    return at.element_bytes() * (hold * depth(at) + sums);
}

// Ubuntu 24.04's PoCL builds wrong code of the loops between barriers, whichever way they are written; its method "cbs"
// of work-groups does not.
Rule is_built_right() {
    return {.of_device = true, .unmet = [](const Case& at) {
                const bool wrong =
                    at.device.platform == "Portable Computing Language" && at.device.driver.rfind("5.", 0) == 0;
                return wrong ? "PoCL " + at.device.driver + " builds wrong code of it" : std::string();
            }};
}

Launch groups(const Case& at) {
    const auto sides = sides_of(at);
    const auto count = quotient_up(sides.longer, strip(at)) * quotient_up(sides.shorter, at.parameter("HOLD"));
    return launch_1d(count * at.parameter("LOCAL"), at.parameter("LOCAL"));
}

std::map<std::string, double> traffic(const Case& at) {
    const auto sides = sides_of(at);
    const auto k = double(at.size("K")), element = double(at.element_bytes()), hold = double(at.parameter("HOLD"));
    const auto passes = double(quotient_up(sides.shorter, at.parameter("HOLD"))),
               strips = double(quotient_up(sides.longer, strip(at)));
    const auto streamed = passes * k * double(sides.longer), held = strips * k * double(sides.shorter);
    return {{"requested", element * (streamed + held)}, {"local", element * hold * k * passes * strips}};
}

std::string division(const Case& at) {
    const auto set = [](const char* name, std::int64_t value) {
        return std::string(" -D") + name + "=" + std::to_string(value);
    };
    return set("SWAP", sides_of(at).swap) + set("ACROSS", across(at)) + set("LANES", lanes_along_k(at)) +
           set("DEPTH", depth(at));
}

void build(GemmPlanner& planner) {
    build_streamed(planner, depth(planner.at()),
                   [&](const GemmCall& part, const Launch& launch) { return planner.parts_of_k(part, launch); });
}

}  // namespace

GemmVariant gemm_thin() {
    return {
        {
            .name = "thin",
            .summary = "sums of HOLD elements of the shorter side a work-item; the longer side's operand is read once",
            .parameters = {{"HOLD", {1, 2, 4, 8, 16}, 4, "elements of the shorter side a work-item"},
                           {"EACH", {1, 2, 4}, 2, "lines of the longer side a work-item, where k lies side by side"},
                           {"LOCAL", {128, 256}, 256, "work-items in a work-group"},
                           parts_of_k_parameter()},
            .launch = groups,
            .rules = {is_built_right(), work_group_fits("LOCAL"), needs_local_bytes(local_bytes)},
        },
        {
            .bytes = traffic,
            .build = build,
            .wide = true,
            .options = division,
        }};
}

}  // namespace gpuopt
