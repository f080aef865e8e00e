// What builders of GEMM plans share.
#pragma once

#include "workloads/gemm/gemm.hpp"

namespace gpuopt {

inline std::int64_t groups_of(std::int64_t items, std::int64_t a_group) { return (items + a_group - 1) / a_group; }

// Where a kernel finds the addend, as ADDEND.
enum class Addend { none = 0, c = 1, d = 2 };

// One launch of a kernel with GEMM_ARGUMENTS: a product, or a part of one.
struct GemmCall {
    GemmMatrix a, b, c, d;
    std::int64_t m = 0, n = 0, k = 0, batch = 1;
    std::int64_t k_last = 0;  // of the batch's last matrix; 0 where it has as much as the others
    Addend addend = Addend::none;
    bool transpose_a = false, transpose_b = false;
};

class GemmPlanner {
public:
    GemmPlanner(std::shared_ptr<Session> session, const GemmArguments& arguments, const GemmVariant& variant,
                const Parameters& parameters);
    std::shared_ptr<Prepared> build();

    const std::shared_ptr<Session>& session() const { return session_; }
    const GemmArguments& arguments() const { return arguments_; }
    const Case& at() const { return case_; }
    Prepared& plan() { return *plan_; }

    // Lives as long as the plan.
    std::shared_ptr<Buffer> scratch(std::int64_t elements, const std::string& what);

    GemmCall whole() const;  // the product as it was asked for
    // The call in parts that are no more work-groups than a launch may have: `launch` says how many a part has, `add`
    // adds its steps.
    void in_parts(const GemmCall& call, const std::function<Launch(const Sizes&)>& launch,
                  const std::function<void(const GemmCall&, const Launch&)>& add) const;

    // The call, of one product, as `parts` calls of at least a part each, multiples of `step`: `add` gets them as a
    // batch whose operands it places, and whose results a pass adds. Few results fill a device only so, and short sums
    // are more accurate than long ones. With 1 part, `add` gets the call.
    void in_parts_of_k(const GemmCall& call, std::int64_t parts, std::int64_t step,
                       const std::function<void(const GemmCall&)>& add);
    // How many parts of k SPLIT asks for, of a call whose launch is this.
    std::int64_t parts_of_k(const GemmCall& call, const Launch& launch) const;

    // The variant's kernel as the plan's main step; arguments of its own may follow through plan().arg.
    void multiply(const GemmCall& call, const Launch& launch);
    // A kernel of passes/<name>.cl, gemm_<name>, with the arguments that all share.
    void pass(const std::string& name, const GemmCall& call, const Launch& launch, const Parameters& macros = {});
    Launch launch(const Sizes& sizes) const;  // the variant's

private:
    void add(const std::string& path, const std::string& entry_point, const GemmCall& call, const Launch& launch,
             const Parameters& parameters, const std::string& more_options = {});
    void scale();
    Work work() const;

    std::shared_ptr<Session> session_;
    GemmArguments arguments_;
    const GemmVariant& variant_;
    Parameters parameters_;
    Sizes sizes_;
    Case case_;
    std::shared_ptr<Prepared> plan_;
};

// The parameter SPLIT.
Parameter parts_of_k_parameter();

// Builders and counts of variants that have source files of their own.
void build_constant(GemmPlanner& planner);
std::map<std::string, double> bytes_of_constant(const Case& at);

}  // namespace gpuopt
