// Narrow results, whose time is that of reading the operand of their longer side.
#pragma once

#include <algorithm>

#include "workloads/gemm/planner.hpp"

namespace gpuopt {

// Which side of the result is the longer one: M with `swap`. `beside`: its neighbours, not those along k, lie side by
// side in its operand.
struct Sides {
    bool swap, beside;
    std::int64_t shorter, longer;
};
inline Sides sides_of(const Case& at) {
    const auto m = at.size("M"), n = at.size("N");
    const bool swap = m > n;
    return {swap, swap ? at.size("transpose_a") == 1 : at.size("transpose_b") == 0, std::min(m, n), std::max(m, n)};
}

// The variant's kernel for the whole product, in as many parts of k as `parts` says, each a multiple of `step` long.
inline void build_streamed(GemmPlanner& planner, std::int64_t step,
                           const std::function<std::int64_t(const GemmCall&, const Launch&)>& parts) {
    planner.in_parts(
        planner.whole(), [&](const Sizes& sizes) { return planner.launch(sizes); },
        [&](const GemmCall& part, const Launch& launch) {
            planner.multiply_in_parts_of_k(part, launch, parts(part, launch), step);
        });
}

}  // namespace gpuopt
