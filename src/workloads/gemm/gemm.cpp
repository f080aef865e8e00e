#include "workloads/gemm/gemm.hpp"

#include <algorithm>

#include "workloads/gemm/planner.hpp"
#include "workloads/kept_plans.hpp"

namespace gpuopt {
namespace {

// Of rows and columns: kernels add a tile's length, of 4096 at most, in 32 bits.
constexpr std::int64_t longest = (std::int64_t(1) << 31) - 4096;

Sizes sizes_of(const GemmArguments& given) {
    return {{"M", given.m},
            {"N", given.n},
            {"K", given.k},
            {"batch", given.batch},
            {"addend", given.beta != 0 ? 1 : 0},
            {"transpose_a", given.transpose_a ? 1 : 0},
            {"transpose_b", given.transpose_b ? 1 : 0}};
}

// Kernels load four elements at once, whatever an element's size.
bool aligned(const GemmMatrix& matrix) { return matrix.ld % 4 == 0 && matrix.batch % 4 == 0 && matrix.from % 4 == 0; }

}  // namespace

GemmPlanner::GemmPlanner(std::shared_ptr<Session> session, const GemmArguments& arguments, const GemmVariant& variant,
                         const Parameters& parameters)
    : PlanBuilder(std::move(session), gemm_workload(), variant, arguments.dtype, sizes_of(arguments), parameters),
      arguments_(arguments),
      variant_(variant) {}

std::shared_ptr<Prepared> GemmPlanner::build() {
    check();
    const bool nothing = arguments_.m == 0 || arguments_.n == 0 || arguments_.batch == 0;
    const bool products = arguments_.k > 0 && arguments_.alpha != 0;
    plan_->work = work();  // builders add what their passes ask for
    if (nothing) return plan_;
    const auto &a = arguments_.a.buffer, &b = arguments_.b.buffer;
    plan_->source = a->bytes() > b->bytes() ? a : b;
    if (!products) scale();
    else if (variant_.build) variant_.build(*this);
    else multiply_directly();
    plan_->keep_arrays(arguments_.arrays());
    return plan_;
}

void GemmPlanner::multiply_directly() {
    in_parts(
        whole(), [this](const Sizes& sizes) { return launch(sizes); },
        [this](const GemmCall& part, const Launch& shape) { multiply(part, shape); });
}

GemmCall GemmPlanner::whole() const {
    GemmCall call{arguments_.a, arguments_.b, arguments_.c, arguments_.d,
                  arguments_.m, arguments_.n, arguments_.k, arguments_.batch};
    if (arguments_.beta != 0) call.addend = Addend::c;
    call.transpose_a = arguments_.transpose_a;
    call.transpose_b = arguments_.transpose_b;
    return call;
}

void GemmPlanner::in_parts(const GemmCall& call, const std::function<Launch(const Sizes&)>& launch,
                           const std::function<void(const GemmCall&, const Launch&)>& add) const {
    const auto shape_of = [&](std::int64_t rows, std::int64_t batch) {
        auto sizes = sizes_;
        for (const auto& [name, size] : Sizes{{"M", rows}, {"N", call.n}, {"K", call.k}, {"batch", batch}})
            sizes[name] = size;
        return launch(sizes);
    };
    // Rows are halved until a part fits a launch; parts begin at multiples of 1024 rows, which keeps alignment and
    // tiles.
    const auto groups_down = [](const Launch& shape) {
        return static_cast<std::int64_t>(shape.global[1] / shape.local[1]);
    };
    auto rows = call.m;
    while (groups_down(shape_of(rows, 1)) > most_groups_yz) rows = quotient_up(quotient_up(rows, 2), 1024) * 1024;
    for (std::int64_t matrix = 0; matrix < call.batch; matrix += most_groups_yz)
        for (std::int64_t row = 0; row < call.m; row += rows) {
            auto part = call;
            part.batch = std::min(call.batch - matrix, most_groups_yz);
            part.m = std::min(call.m - row, rows);
            part.a.from += matrix * call.a.batch + row * (call.transpose_a ? 1 : call.a.ld);
            part.b.from += matrix * call.b.batch;
            part.c.from += matrix * call.c.batch + row * call.c.ld;
            part.d.from += matrix * call.d.batch + row * call.d.ld;
            add(part, shape_of(part.m, part.batch));
        }
}

Parameter parts_of_k_parameter() {
    return {
        "SPLIT", {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}, 0, "parts of k added by a pass; 0: as many as fill the device"};
}

std::int64_t GemmPlanner::parts_of_k(const GemmCall& call, const Launch& launch) const {
    // 256 work-items fill a compute unit here, fewer than it could hold, since each keeps many sums (H200, 2026-11).
    constexpr std::int64_t shortest = 64, enough = 256;
    if (call.batch > 1) return 1;
    if (const auto parts = case_.parameter("SPLIT"); parts > 0) return parts;
    const auto wanted = static_cast<std::int64_t>(case_.device.compute_units) * enough,
               there = static_cast<std::int64_t>(launch.global[0]);
    const auto most = 4 * static_cast<std::int64_t>(case_.device.compute_units);  // sums of parts are read again
    return std::clamp<std::int64_t>(std::min(wanted / there, call.k / shortest), 1, most);
}

void GemmPlanner::in_parts_of_k(const GemmCall& call, std::int64_t parts, std::int64_t step,
                                const std::function<void(const GemmCall&)>& add) {
    const auto each = quotient_up(quotient_up(call.k, parts), step) * step, count = quotient_up(call.k, each);
    if (count <= 1) return add(call);
    GemmMatrix sums;
    sums.ld = quotient_up(call.n, 4) * 4;
    sums.batch = sums.ld * call.m;
    sums.buffer = scratch(sums.batch * count, "sums of parts of k");
    asks_for(double(count * call.m * (call.n + sums.ld)));  // written, and read by the pass in whole vectors
    auto part = call;
    part.k = each;
    part.k_last = call.k - (count - 1) * each;
    part.batch = count;
    part.addend = Addend::none;
    part.d = sums;
    add(part);
    auto sum = call;
    sum.a = sum.b = sums;
    sum.k = count;
    sum.transpose_a = sum.transpose_b = false;
    // Work-items of a group share parts where they are many.
    const std::int64_t group = 256, down = count >= 16 ? 8 : 1;
    pass("sum", sum, launch_1d(quotient_up(call.m * quotient_up(call.n, 4) * down, group) * group, group),
         {{"DOWN", down}});
}

void GemmPlanner::asks_for(double elements) {
    plan_->work.bytes["requested"] += double(case_.element_bytes()) * elements;
}

Launch GemmPlanner::launch(const Sizes& sizes) const {
    auto launch = variant_.launch({case_.device, case_.dtype, sizes, parameters_});
    launch.dimensions = 3;
    launch.global[2] = static_cast<std::size_t>(sizes.at("batch"));
    return launch;
}

void GemmPlanner::multiply(const GemmCall& call, const Launch& launch) {
    auto levels = parameters_;
    levels.erase("SPLIT");  // one program for all ways to split
    const auto own = variant_.options ? variant_.options(case_) : std::string();
    add_variant(options(levels) + call_options(call) + own, launch, true);
    add_arguments(call);
}

void GemmPlanner::multiply_in_parts_of_k(const GemmCall& call, const Launch& launch, std::int64_t parts,
                                         std::int64_t step) {
    in_parts_of_k(call, parts, step, [&](GemmCall of_k) {
        auto shape = launch;
        shape.global[2] = static_cast<std::size_t>(of_k.batch);
        if (of_k.k < call.k) {
            of_k.a.batch = of_k.k * (of_k.transpose_a ? of_k.a.ld : 1);
            of_k.b.batch = of_k.k * (of_k.transpose_b ? 1 : of_k.b.ld);
        }
        multiply(of_k, shape);
    });
}

void GemmPlanner::pass(const std::string& name, const GemmCall& call, const Launch& launch, const Parameters& macros) {
    add_pass(name, options(macros) + call_options(call), launch);
    add_arguments(call);
}

std::string GemmPlanner::call_options(const GemmCall& call) const {
    const auto flag = [](const char* name, int value) {
        return std::string(" -D") + name + "=" + std::to_string(value);
    };
    auto text = flag("TRANSPOSE_A", call.transpose_a) + flag("TRANSPOSE_B", call.transpose_b) +
                flag("ADDEND", static_cast<int>(call.addend));
    if (variant_.wide)
        text += flag("ALIGNED_A", aligned(call.a)) + flag("ALIGNED_B", aligned(call.b)) +
                flag("ALIGNED_D", aligned(call.d));
    return text;
}

void GemmPlanner::add_arguments(const GemmCall& call) {
    const auto& c = call.addend == Addend::c ? call.c : call.d;
    plan_->arg(call.a.buffer).arg(call.b.buffer);
    plan_->arg(c.buffer).arg(call.d.buffer);
    ints({call.m, call.n, call.k});
    longs({call.a.ld, call.b.ld, c.ld, call.d.ld});
    longs({call.a.batch, call.b.batch, c.batch, call.d.batch});
    plan_->arg(real_scalar(case_.dtype, arguments_.alpha)).arg(real_scalar(case_.dtype, arguments_.beta));
    longs({call.a.from, call.b.from, c.from, call.d.from});
    ints({call.k_last > 0 ? call.k_last : call.k});
}

void GemmPlanner::scale() {
    const auto launch = [](const Sizes& sizes) {
        return launch_3d({sizes.at("N"), sizes.at("M"), sizes.at("batch")}, 64, 1);
    };
    in_parts(whole(), launch, [this](const GemmCall& part, const Launch& shape) { pass("scale", part, shape); });
}

// Compulsory traffic: every matrix once; a matrix that a whole batch shares counts once. What passes leave for the next
// step may stay in a cache: it is in "requested" alone.
Work GemmPlanner::work() const {
    const auto element = double(facts(arguments_.dtype).bytes), batch = double(arguments_.batch);
    const auto m = double(arguments_.m), n = double(arguments_.n), k = double(arguments_.k);
    const auto matrices = [&](const GemmMatrix& matrix) { return matrix.batch == 0 ? std::min(batch, 1.0) : batch; };
    Work work;
    work.flops = arguments_.alpha == 0 ? 0 : 2 * m * n * k * batch;
    work.bytes["dram"] = element * batch * m * n;
    if (work.flops > 0)
        work.bytes["dram"] += element * (matrices(arguments_.a) * m * k + matrices(arguments_.b) * k * n);
    if (arguments_.beta != 0) work.bytes["dram"] += element * matrices(arguments_.c) * m * n;
    if (work.flops > 0)
        for (const auto& [kind, bytes] : variant_.bytes(case_)) work.bytes[kind] = bytes * batch;
    if (work.flops > 0) work.bytes["requested"] += element * batch * m * n * (1 + double(sizes_.at("addend")));
    if (work.flops > 0 && variant_.special)
        for (const auto& [name, results] : variant_.special(case_)) work.special[name] = results * batch;
    return work;
}

GemmShape check_gemm(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                     const std::optional<std::vector<std::int64_t>>& c, bool transpose_a, bool transpose_b,
                     double beta) {
    const auto text = [](const std::vector<std::int64_t>& shape) {
        std::string all;
        for (const auto length : shape) all += (all.empty() ? "" : ", ") + std::to_string(length);
        return "(" + all + (shape.size() == 1 ? ",)" : ")");
    };
    const auto require_matrix = [&](const char* name, const std::vector<std::int64_t>& shape) {
        if (shape.size() != 2 && shape.size() != 3)
            throw ArrayError(name, "its shape is " + text(shape),
                             "give a matrix (rows, columns), or a batch of them (batch, rows, columns)");
        for (std::size_t axis = shape.size() - 2; axis < shape.size(); ++axis)
            if (shape[axis] > longest)
                throw ArrayError(name, "its shape is " + text(shape), "rows and columns are at most 2^31 - 4096 each");
    };
    require_matrix("A", a);
    require_matrix("B", b);
    const auto length = [](const std::vector<std::int64_t>& shape, std::size_t from_the_end) {
        return shape[shape.size() - from_the_end];
    };
    GemmShape found;
    found.m = length(a, transpose_a ? 1 : 2);
    found.k = length(a, transpose_a ? 2 : 1);
    found.n = length(b, transpose_b ? 2 : 1);
    const auto inner = length(b, transpose_b ? 1 : 2);
    if (inner != found.k)
        throw ArrayError("B",
                         "its shape is " + text(b) + (transpose_b ? ", transposed" : "") + ", A's is " + text(a) +
                             (transpose_a ? ", transposed" : "") + ": " + std::to_string(found.k) + " columns meet " +
                             std::to_string(inner) + " rows",
                         "give a B of " + std::to_string(found.k) + (transpose_b ? " columns" : " rows") +
                             ", or another transpose_a or transpose_b");
    const bool many = a.size() == 3 || b.size() == 3;
    if (a.size() == 3 && b.size() == 3 && a[0] != b[0])
        throw ArrayError("B", "it has " + std::to_string(b[0]) + " matrices, A has " + std::to_string(a[0]),
                         "give as many of each, or one matrix of two dimensions for all");
    found.batch = a.size() == 3 ? a[0] : many ? b[0] : 1;
    found.result = {found.m, found.n};
    if (many) found.result.insert(found.result.begin(), found.batch);
    if (beta != 0 && !c) throw ArrayError("C", "beta is not 0 and there is no addend", "give C, or leave beta at 0");
    if (c && *c != found.result && *c != std::vector<std::int64_t>{found.m, found.n})
        throw ArrayError("C", "its shape is " + text(*c) + ", the product's is " + text(found.result),
                         "give an addend of the product's shape" + std::string(many ? ", or one matrix for all" : ""));
    return found;
}

std::shared_ptr<Prepared> prepare_gemm(const std::shared_ptr<Session>& session, const GemmArguments& arguments,
                                       const std::string& variant, const Parameters& parameters) {
    return GemmPlanner(session, arguments, row_of<GemmVariant>(gemm_workload(), variant), parameters).build();
}

std::shared_ptr<Prepared> prepare_gemm(const std::shared_ptr<Session>& session, const GemmArguments& arguments,
                                       const std::vector<GemmWay>& ways) {
    std::vector<std::shared_ptr<Prepared>> plans(1);
    std::vector<std::shared_ptr<Buffer>> scratch;  // ways run one after another
    const auto build = [&](const GemmWay& way) {
        GemmPlanner planner(session, arguments, row_of<GemmVariant>(gemm_workload(), way.first), way.second);
        planner.may_use(scratch);
        auto plan = planner.build();
        for (const auto& buffer : plan->scratch)
            if (std::find(scratch.begin(), scratch.end(), buffer) == scratch.end()) scratch.push_back(buffer);
        return plan;
    };
    // Those behind a way that always leaves a result would never run. The first is built last: later ones need more.
    for (std::size_t i = 1; i < ways.size() && !may_run_beside(ways[i - 1].first); ++i) plans.push_back(build(ways[i]));
    plans[0] = build(ways.at(0));
    for (; plans.size() > 1; plans.pop_back())
        if (auto& before = *plans.end()[-2]; before.fits) before.otherwise(std::move(*plans.back()));
    return plans[0];
}

bool may_run_beside(const std::string& variant) { return !row_of<GemmVariant>(gemm_workload(), variant).looks_back; }

void run_gemm(const std::shared_ptr<Session>& session, const GemmArguments& arguments, const std::string& variant,
              const Parameters& parameters, bool wait) {
    const auto arrays = arguments.arrays();
    PlanKey key("gemm " + variant, parameters);
    key.add(arguments.dtype).add(arguments.m).add(arguments.n).add(arguments.k).add(arguments.batch);
    key.add(arguments.transpose_a).add(arguments.transpose_b).add(arguments.alpha).add(arguments.beta).add(arrays);
    for (const auto* matrix : {&arguments.a, &arguments.b, &arguments.c, &arguments.d})
        key.add(matrix->ld).add(matrix->batch).add(matrix->from);
    run_kept(
        *session, session->plans(), key, arrays, [&] { return prepare_gemm(session, arguments, variant, parameters); },
        wait);
}

}  // namespace gpuopt
