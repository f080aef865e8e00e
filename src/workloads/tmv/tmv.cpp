#include "workloads/tmv/tmv.hpp"

#include <algorithm>

#include "workloads/kept_plans.hpp"
#include "workloads/plan_builder.hpp"

namespace gpuopt {
namespace {

constexpr std::int64_t most = std::int64_t(1) << 30;  // kernels count rows and columns by int and step beyond the last

// Builds the plan: the product, or that of each part of the rows and then the sum over parts, which is a product too.
class Planner : PlanBuilder {
public:
    Planner(const TmvArguments& arguments, const TmvVariant& variant, const Parameters& parameters)
        : PlanBuilder(arguments.y->session(), tmv_workload(), variant, arguments.dtype,
                      {{"rows", arguments.rows}, {"cols", arguments.cols}, {"strips", 1}, {"parts", 1}}, parameters),
          arguments_(arguments),
          variant_(variant) {}

    std::shared_ptr<Prepared> plan() {
        check();
        const auto grid = variant_.grid(case_, true);
        sizes_["aligned"] = are_vectors(arguments_.stride, arguments_.aligned_to) ? 1 : 0;
        plan_->work = work(grid);
        auto sums = arguments_.y;
        if (grid.parts > 1) sums = scratch(grid.parts * arguments_.cols, "the sums of parts");
        add(grid, {arguments_.A, arguments_.begin, arguments_.stride, arguments_.aligned_to}, sums, "");
        if (grid.parts > 1) {
            sizes_["rows"] = grid.parts;
            add(variant_.grid(case_, false), {sums, 0, arguments_.cols, arguments_.aligned_to}, arguments_.y,
                " -DONES");
        }
        plan_->source = arguments_.A;
        plan_->keep_arrays(arguments_.arrays());
        return plan_;
    }

private:
    // Whether each row is whole vectors that begin where vectors may.
    bool are_vectors(std::int64_t stride, std::size_t aligned_to) const {
        const auto width = variant_.width(case_);
        const auto vector_bytes = static_cast<std::size_t>(width * case_.element_bytes());
        return arguments_.cols % width == 0 && stride % width == 0 && aligned_to % vector_bytes == 0;
    }

    // Rows that are summed.
    struct Rows {
        std::shared_ptr<Buffer> buffer;
        std::int64_t begin, stride;
        std::size_t aligned_to;
    };

    void add(const TmvGrid& grid, const Rows& from, const std::shared_ptr<Buffer>& to, const std::string& more) {
        const bool aligned = are_vectors(from.stride, from.aligned_to);
        auto levels = parameters_;
        levels.erase("PARTS");  // one program for all ways to split
        if (levels.count("ACROSS")) levels["ACROSS"] = grid.across;
        const auto text = options(levels) + (aligned ? " -DALIGNED=1" : " -DALIGNED=0") + more;
        sizes_["strips"] = grid.strips;
        sizes_["parts"] = grid.parts;
        add_variant(text, variant_.launch(case_), false);
        plan_->arg(from.buffer).arg(arguments_.v).arg(to);
        plan_->arg(cl_int(sizes_.at("rows"))).arg(cl_int(arguments_.cols));
        plan_->arg(cl_long(from.stride)).arg(cl_int(grid.part_rows)).arg(cl_long(from.begin));
    }

    // Compulsory traffic is A, v and y once; sums of parts are the variant's own.
    Work work(const TmvGrid& grid) const {
        const auto element = double(case_.element_bytes());
        const auto rows = double(arguments_.rows), cols = double(arguments_.cols), entries = rows * cols;
        Work work;
        work.flops = 2 * entries;
        work.bytes["dram"] = element * (entries + rows + cols);
        const auto sums = grid.parts > 1 ? 2 * double(grid.parts) * cols : 0;
        work.bytes["requested"] = element * (entries + rows * variant_.from_global(case_, grid) + sums + cols);
        const auto staged = variant_.in_local(case_, grid);
        if (staged > 0) work.bytes["local"] = element * staged;
        return work;
    }

    TmvArguments arguments_;
    const TmvVariant& variant_;
};

}  // namespace

std::shared_ptr<Prepared> prepare_tmv(const TmvArguments& arguments, const std::string& variant,
                                      const Parameters& parameters) {
    if (std::max(arguments.rows, arguments.cols) > most)
        throw ArrayError("A", "more than 2^30 rows or columns", "give it in blocks and add or join their products");
    return Planner(arguments, row_of<TmvVariant>(tmv_workload(), variant), parameters).plan();
}

void run_tmv(const TmvArguments& arguments, const std::string& variant, const Parameters& parameters) {
    const auto arrays = arguments.arrays();
    auto& session = *arguments.y->session();
    PlanKey key("tmv " + variant, parameters);
    key.add(arguments.dtype).add(arguments.rows).add(arguments.cols);
    key.add(arguments.stride).add(arguments.begin).add(arguments.aligned_to).add(arrays);
    run_kept(session, session.plans(), key, arrays, [&] { return prepare_tmv(arguments, variant, parameters); });
}

}  // namespace gpuopt
