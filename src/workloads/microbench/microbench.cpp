#include "workloads/microbench/microbench.hpp"

#include "workloads/microbench/bandwidth_variant.hpp"

namespace gpuopt {
namespace {

std::int64_t elements_of(std::size_t bytes, DType dtype) {
    return static_cast<std::int64_t>(bytes / facts(dtype).bytes);
}

}  // namespace

std::int64_t read_sums(const Device& device, std::int64_t elements, DType dtype, const std::string& name,
                       const Parameters& parameters) {
    const auto& variant = microbench_workload().variant(name);
    const Sizes sizes = {{"elements", elements}};
    const Case at{device, dtype, sizes, parameters};
    check_configuration(microbench_workload(), variant, at);
    return static_cast<std::int64_t>(variant.launch(at).global[0]);
}

std::shared_ptr<Prepared> prepare_bandwidth(const std::shared_ptr<Buffer>& from, const std::shared_ptr<Buffer>& to,
                                            DType dtype, bool store, const std::string& name,
                                            const Parameters& parameters) {
    const auto& workload = microbench_workload();
    const auto& variant = static_cast<const BandwidthVariant&>(workload.variant(name));
    const auto session = from->session();
    const Sizes sizes = {{"elements", elements_of(from->bytes(), dtype)}};
    const Case at{session->device(), dtype, sizes, parameters};
    check_configuration(workload, variant, at);
    if (sizes.at("elements") % at.parameter("WIDTH") != 0)
        throw ArrayError("from", std::to_string(sizes.at("elements")) + " elements are no multiple of WIDTH",
                         "use a multiple of 16");

    auto plan = std::make_shared<Prepared>(session);
    plan->add(session->build(workload.source_path(variant), build_options(at)), workload.entry_point(variant),
              variant.launch(at));
    plan->arg(from->handle())
        .arg(to->handle())
        .arg(cl_long(sizes.at("elements") / at.parameter("WIDTH")))
        .arg(cl_int(store));
    plan->work.bytes["dram"] = double(from->bytes()) * (variant.writes ? 2 : 1);
    plan->work.flops = variant.writes ? 0 : double(sizes.at("elements"));
    plan->keep(from);
    plan->keep(to);
    return plan;
}

}  // namespace gpuopt
