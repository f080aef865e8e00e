// The table of SpMV variants: adding one is a row here and kernels/spmv/<name>.cl.
#include "workloads/spmv/spmv.hpp"

namespace gpuopt {
namespace {

const Parameter local_size{"LOCAL", {64, 128, 256, 512}, 256, "work-items in a work-group"};

Launch row_a_work_item(const Case& at) { return launch_1d(at.size("rows"), at.parameter("LOCAL")); }
Launch four_rows_a_work_item(const Case& at) { return launch_1d((at.size("rows") + 3) / 4, at.parameter("LOCAL")); }
Launch items(const Case& at) { return launch_1d(at.parameter("ITEMS"), 1); }

std::int64_t offset_bytes(const Case&) { return std::int64_t{256} * 8; }

Rule vectors_fit_slice() {
    return {false, [](const Case& at) {
                return at.parameter("SLICE") % at.parameter("WIDTH") == 0
                           ? std::string()
                           : std::string("SLICE must be a multiple of WIDTH");
            }};
}

const std::vector<SpmvVariant>& table() {
    static const std::vector<SpmvVariant> rows = {
        {{"basic",
          "one row a work-item, offsets in global memory, a bounds test an entry",
          {local_size},
          row_a_work_item,
          {work_group_fits("LOCAL")},
          {}},
         MatrixForm::exact,
         VectorHome::plain},
        {{"vectorized",
          "four rows a work-item by 4-wide loads, diagonals aligned to 128 bytes, offsets in local memory",
          {local_size},
          four_rows_a_work_item,
          {work_group_fits("LOCAL"), needs_local_bytes(offset_bytes)},
          {}},
         MatrixForm::pitched,
         VectorHome::plain},
        {{"padded",
          "one row a work-item, x with zeros on either side instead of bounds tests, UNROLL entries loaded ahead",
          {local_size, {"UNROLL", {1, 4, 9, 27}, 9, "entries of a row loaded before the first is used"}},
          row_a_work_item,
          {work_group_fits("LOCAL")},
          {}},
         MatrixForm::pitched,
         VectorHome::padded},
        {{"sliced",
          "few coarse work-items, each a run of slices stored as one stream, explicit vectors",
          {{"SLICE", {32, 64, 128}, 64, "rows stored together, diagonal after diagonal"},
           {"WIDTH", {4, 8, 16}, 16, "elements in an explicit vector"},
           {"ITEMS", {8, 64, 512}, 64, "work-items, each of its own work-group"}},
          items,
          {vectors_fit_slice()},
          {}},
         MatrixForm::sliced,
         VectorHome::padded},
    };
    return rows;
}

}  // namespace

const Workload& spmv_workload() {
    static const Workload workload = [] {
        Workload result{"spmv", {DType::f32, DType::f64}, {}};
        for (const auto& row : table()) result.variants.push_back(&row);
        return result;
    }();
    return workload;
}

const SpmvVariant& spmv_variant(const std::string& name) {
    return static_cast<const SpmvVariant&>(spmv_workload().variant(name));
}

}  // namespace gpuopt
