// How work-items are executed: branches that neighbours take apart, and values that each holds at once.
#include "workloads/microbench/rows.hpp"

namespace gpuopt {
namespace {

const Parameter paths{"PATHS", {1, 2, 4, 8, 16, 32}, 32, "paths that a branch has; 1 is no branch"};
const Parameter divergent{
    "DIVERGENT", {0, 1}, 1, "64 neighbouring work-items take the same path (0), or neighbours take different ones (1)"};
const Parameter length{"LENGTH", {16, 64, 256}, 64, "multiply-adds of a path"};
const Parameter live{"LIVE",
                     {8, 16, 32, 64, 96, 124, 128, 160, 192, 224, 255, 256, 320, 512},
                     64,
                     "values of a work-item that are live at once"};
const Parameter chained{"CHAINED", {0, 1}, 0, "values do not wait for each other (0), or each for the one before (1)"};

Work flops_of_items(const Case& at, std::int64_t of_one) {
    Work work;
    work.flops = double(items_of_full_device(at)) * double(at.size("trips")) * double(of_one);
    return work;
}
Rule reads(std::int64_t values, const char* reason) {
    return constraint([=](const Case& at) { return at.size("elements") >= values; }, reason);
}
Work steps_of_a_path(const Case& at) { return flops_of_items(at, 2 * at.parameter("LENGTH")); }
// A trip updates every value, few ones several times: PASSES of the kernel.
Work updates(const Case& at) {
    const auto values = at.parameter("LIVE"), passes = values < 64 ? 64 / values : 1;
    return flops_of_items(at, (at.parameter("CHAINED") ? 4 : 2) * values * passes);
}

}  // namespace

MicrobenchRows execution_rows() {
    const auto fits = work_group_fits("LOCAL");
    const auto reals = only_for(real_dtypes);
    return {
        {{
             .name = "branches",
             .summary = "each trip takes one of PATHS paths of LENGTH multiply-adds, neighbours the same or others",
             .parameters = {paths, divergent, length, local_size(), groups_a_unit()},
             .launch = full_device,
             .rules = {fits, reals, reads(64, "it reads 64 values of the source")},
             .family = "branches",
         },
         {
             .outputs = items_of_full_device,
             .work = steps_of_a_path,
         }},
        {{
             .name = "registers",
             .summary = "each work-item updates LIVE values time after time, in registers while these last",
             .parameters = {live, chained, local_size(), groups_a_unit()},
             .launch = full_device,
             .rules = {fits, reals, reads(16, "it reads 16 values of the source")},
             .family = "registers",
         },
         {
             .outputs = items_of_full_device,
             .work = updates,
         }},
    };
}

}  // namespace gpuopt
