#include "workloads/plan_builder.hpp"

#include <algorithm>
#include <utility>

#include "runtime/device_array.hpp"

namespace gpuopt {

std::shared_ptr<Buffer> PlanBuilder::scratch(std::int64_t elements, const std::string& what) {
    const auto bytes = DeviceArray::bytes_of(case_.dtype, {elements}, what);
    const auto smaller = [&](const auto& one, const auto& other) {
        return std::pair(one->bytes() < bytes, one->bytes()) < std::pair(other->bytes() < bytes, other->bytes());
    };
    if (const auto found = std::min_element(spare_.begin(), spare_.end(), smaller);
        found != spare_.end() && (*found)->bytes() >= bytes) {
        plan_->scratch.push_back(*found);
        spare_.erase(found);
        return plan_->scratch.back();
    }
    auto buffer = std::make_shared<Buffer>(session_, bytes, what);
    plan_->scratch_bytes += buffer->bytes();
    plan_->scratch.push_back(buffer);
    return buffer;
}

std::shared_ptr<Buffer> PlanBuilder::uploaded(const void* data, std::size_t bytes, const std::string& what) {
    auto buffer = std::make_shared<Buffer>(session_, bytes, what);
    buffer->upload(data);
    plan_->scratch_bytes += buffer->bytes();
    plan_->keep(buffer);
    return buffer;
}

Prepared& PlanBuilder::add_variant(const std::string& options, const Launch& launch, bool main) {
    return add_variant(program(options), launch, main);
}

Prepared& PlanBuilder::add_variant(const std::shared_ptr<const Program>& program, const Launch& launch, bool main) {
    if (main) plan_->main_step = plan_->steps().size();
    plan_->add(program, workload_.entry_point(row_), launch);
    return *plan_;
}

Prepared& PlanBuilder::add_pass(const std::string& name, const std::string& options, const Launch& launch) {
    plan_->add(session_->build(workload_.name + "/passes/" + name + ".cl", options), workload_.name + "_" + name,
               launch);
    return *plan_;
}

}  // namespace gpuopt
