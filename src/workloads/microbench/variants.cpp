// The table of bandwidth kernels: each is a shape that some device likes best.
#include "workloads/microbench/bandwidth_variant.hpp"

namespace gpuopt {
namespace {

const Parameter width{"WIDTH", {1, 2, 4, 8, 16}, 4, "elements in one load"};
const Parameter local_size{"LOCAL", {64, 256, 1024}, 256, "work-items in a work-group"};
const Parameter ahead{"AHEAD", {1, 4, 16}, 4, "independent loads of a work-item"};
const Parameter coarse{
    "ITEMS", {8, 64, 512}, 64, "work-items, each of its own work-group and with one contiguous chunk"};

std::int64_t vectors(const Case& at) { return at.size("elements") / at.parameter("WIDTH"); }
Launch groups_of_loads(const Case& at) {
    return launch_1d((vectors(at) + at.parameter("AHEAD") - 1) / at.parameter("AHEAD"), at.parameter("LOCAL"));
}
Launch chunk_an_item(const Case& at) { return launch_1d(at.parameter("ITEMS"), 1); }

const std::vector<BandwidthVariant>& table() {
    static const std::vector<BandwidthVariant> rows = {
        {{"read",
          "neighbouring work-items load neighbouring vectors, AHEAD each, and add",
          {width, local_size, ahead},
          groups_of_loads,
          {work_group_fits("LOCAL")},
          {}},
         false},
        {{"read_chunks",
          "few work-items, each adds up a contiguous chunk",
          {width, coarse, {"AHEAD", {2, 4, 8}, 4, ahead.meaning}},
          chunk_an_item,
          {},
          {}},
         false},
        {{"copy",
          "neighbouring work-items copy neighbouring vectors, AHEAD each",
          {width, local_size, ahead},
          groups_of_loads,
          {work_group_fits("LOCAL")},
          {}},
         true},
        {{"copy_chunks", "few work-items, each copies a contiguous chunk", {width, coarse}, chunk_an_item, {}, {}},
         true},
    };
    return rows;
}

}  // namespace

const Workload& microbench_workload() {
    static const Workload workload = [] {
        Workload result{"microbench", {DType::f32, DType::f64}, {}};
        for (const auto& row : table()) result.variants.push_back(&row);
        return result;
    }();
    return workload;
}

}  // namespace gpuopt
