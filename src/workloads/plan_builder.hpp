// What every workload's plan builder starts from: the variant's row at its sizes and parameters, and the plan that
// grows.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session.hpp"
#include "workloads/prepared.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

class PlanBuilder {
public:
    PlanBuilder(std::shared_ptr<Session> session, const Workload& workload, const Variant& variant, DType dtype,
                Sizes sizes, const Parameters& parameters)
        : session_(std::move(session)),
          workload_(workload),
          row_(variant),
          sizes_(std::move(sizes)),
          parameters_(parameters),
          case_{session_->device(), dtype, sizes_, parameters_},
          plan_(std::make_shared<Prepared>(session_)) {}
    // case_ refers to the members beside it.
    PlanBuilder(const PlanBuilder&) = delete;
    PlanBuilder& operator=(const PlanBuilder&) = delete;

protected:
    ~PlanBuilder() = default;

    void check() const { check_configuration(workload_, row_, case_); }
    bool on_cpu() const { return session_->device().type == DeviceType::cpu; }

    // Device memory that lives as long as the plan: so many elements of the plan's dtype, of what is spare where it
    // fits, or a copy of `values`.
    std::shared_ptr<Buffer> scratch(std::int64_t elements, const std::string& what);
    template <class Value>
    std::shared_ptr<Buffer> uploaded(const std::vector<Value>& values, const std::string& what) {
        return uploaded(values.data(), values.size() * sizeof(Value), what);
    }
    std::shared_ptr<Buffer> uploaded(const void* data, std::size_t bytes, const std::string& what);

    // Options of a build: the dtype's, and -D of each of these parameters.
    std::string options(const Parameters& macros = {}) const {
        return build_options({case_.device, case_.dtype, sizes_, macros});
    }

    // The variant's own kernel; `main` makes it the step that carries the variant. Arguments follow.
    Prepared& add_variant(const std::string& options, const Launch& launch, bool main);
    Prepared& add_variant(const std::shared_ptr<const Program>& program, const Launch& launch, bool main);
    std::shared_ptr<const Program> program(const std::string& options) const {
        return session_->build(workload_.source_path(row_), options);
    }
    // The kernel <workload>_<name> of passes/<name>.cl.
    Prepared& add_pass(const std::string& name, const std::string& options, const Launch& launch);

    // Several arguments of one type.
    void ints(std::initializer_list<std::int64_t> values) {
        for (const auto value : values) plan_->arg(cl_int(value));
    }
    void longs(std::initializer_list<std::int64_t> values) {
        for (const auto value : values) plan_->arg(cl_long(value));
    }
    void longs(const std::array<std::int64_t, 3>& values) { longs({values[0], values[1], values[2]}); }

    std::shared_ptr<Session> session_;
    const Workload& workload_;
    const Variant& row_;
    Sizes sizes_;
    Parameters parameters_;
    Case case_;  // sees what becomes of sizes_ and parameters_
    std::shared_ptr<Prepared> plan_;
    std::vector<std::shared_ptr<Buffer>> spare_;  // scratch of plans that never run beside this one
};

}  // namespace gpuopt
