// What builders of GEMM plans share.
#pragma once

#include "workloads/gemm/gemm.hpp"
#include "workloads/plan_builder.hpp"

namespace gpuopt {

// Where a kernel finds the addend: the values of the macro ADDEND.
enum class Addend { none = 0, c = 1, d = 2 };

// One launch of a kernel with GEMM_ARGUMENTS: a product, or a part of one.
struct GemmCall {
    GemmMatrix a, b, c, d;
    std::int64_t m = 0, n = 0, k = 0, batch = 1;
    std::int64_t k_last = 0;  // k of the batch's last matrix; 0: the same as the others'
    Addend addend = Addend::none;
    bool transpose_a = false, transpose_b = false;
};

class GemmPlanner : PlanBuilder {
public:
    GemmPlanner(std::shared_ptr<Session> session, const GemmArguments& arguments, const GemmVariant& variant,
                const Parameters& parameters);
    std::shared_ptr<Prepared> build();
    // Scratch of another way of the same product.
    void may_use(std::vector<std::shared_ptr<Buffer>> scratch) { spare_ = std::move(scratch); }

    const std::shared_ptr<Session>& session() const { return session_; }
    const GemmArguments& arguments() const { return arguments_; }
    const Case& at() const { return case_; }
    Prepared& plan() { return *plan_; }

    using PlanBuilder::scratch;

    GemmCall whole() const;  // the product as it was asked for
    // Divides a call into parts that fit a launch (65535 work-groups in y and z): `launch` gives the launch of a part's
    // sizes, `add` adds the part's steps.
    void in_parts(const GemmCall& call, const std::function<Launch(const Sizes&)>& launch,
                  const std::function<void(const GemmCall&, const Launch&)>& add) const;

    // Divides the sum over k of one product into `parts`, each a multiple of `step` long. `add` gets them as a batch
    // and sets where each matrix of it begins; a pass then adds their results. This fills a device where results are
    // few, and short sums are more accurate than long ones. With 1 part, `add` gets the call as it is.
    void in_parts_of_k(const GemmCall& call, std::int64_t parts, std::int64_t step,
                       const std::function<void(const GemmCall&)>& add);
    // The parts of k for a call with this launch: what the parameter SPLIT says, or as many as fill the device.
    std::int64_t parts_of_k(const GemmCall& call, const Launch& launch) const;

    // Counts so many elements more that the plan asks global memory for.
    void asks_for(double elements);

    // The product as it was asked for by launches of the variant's kernel alone.
    void multiply_directly();
    // The variant's kernel as the plan's main step; arguments of its own may follow through plan().arg.
    void multiply(const GemmCall& call, const Launch& launch);
    // The same for a call whose operands lie as matrices do, in parts of k.
    void multiply_in_parts_of_k(const GemmCall& call, const Launch& launch, std::int64_t parts, std::int64_t step);
    // A kernel of passes/<name>.cl, gemm_<name>, with the arguments that all share.
    void pass(const std::string& name, const GemmCall& call, const Launch& launch, const Parameters& macros = {});
    Launch launch(const Sizes& sizes) const;  // the variant's

private:
    std::string call_options(const GemmCall& call) const;
    void add_arguments(const GemmCall& call);  // to the kernel that was added last
    void scale();
    Work work() const;

    GemmArguments arguments_;
    const GemmVariant& variant_;
};

// The parameter SPLIT.
Parameter parts_of_k_parameter();

// The parameter TEXTURE, what it asks for, and the builder of the steps that have it: their texels hold one or four
// elements.
Parameter texture_parameter();
std::vector<Rule> texture_rules();
void build_fetching(GemmPlanner& planner, int elements_a_texel);

// Builders and counts of variants that have source files of their own.
void build_constant(GemmPlanner& planner);
std::map<std::string, double> bytes_of_constant(const Case& at);

}  // namespace gpuopt
