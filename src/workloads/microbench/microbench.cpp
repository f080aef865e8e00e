#include "workloads/microbench/microbench.hpp"

#include "workloads/microbench/bandwidth_variant.hpp"

namespace gpuopt {
namespace {

std::int64_t elements_of(const DeviceArray& array) {
    return static_cast<std::int64_t>(array.buffer->bytes() / facts(array.dtype).bytes);
}

void check_target(const DeviceArray& to, const DeviceArray& from, std::int64_t written) {
    if (to.buffer->session() != from.buffer->session())
        throw ArrayError("to", "it lies on another device than from", "make both on one device");
    if (to.dtype != from.dtype)
        throw ArrayError(
            "to",
            std::string("its dtype is ") + facts(to.dtype).numpy_name + ", from's is " + facts(from.dtype).numpy_name,
            "give both one dtype");
    if (to.buffer == from.buffer && written > 0) throw ArrayError("to", "it is from itself", "give another array");
    if (elements_of(to) < written)
        throw ArrayError(
            "to",
            "it holds " + std::to_string(elements_of(to)) + " elements, " + std::to_string(written) + " are written",
            "give an array of at least that many");
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

std::shared_ptr<Prepared> prepare_bandwidth(const DeviceArray& from, const DeviceArray& to, bool store,
                                            const std::string& name, const Parameters& parameters) {
    const auto& workload = microbench_workload();
    const auto& variant = static_cast<const BandwidthVariant&>(workload.variant(name));
    const auto& session = from.buffer->session();
    const Sizes sizes = {{"elements", elements_of(from)}};
    const Case at{session->device(), from.dtype, sizes, parameters};
    check_configuration(workload, variant, at);
    if (sizes.at("elements") % at.parameter("WIDTH") != 0)
        throw ArrayError("from", std::to_string(sizes.at("elements")) + " elements are no multiple of WIDTH",
                         "use a multiple of 16");
    const auto launch = variant.launch(at);
    const auto sums = store ? static_cast<std::int64_t>(launch.global[0]) : 0;
    check_target(to, from, variant.writes ? sizes.at("elements") : sums);

    auto plan = std::make_shared<Prepared>(session);
    plan->add(session->build(workload.source_path(variant), build_options(at)), workload.entry_point(variant), launch);
    plan->arg(from.buffer->handle())
        .arg(to.buffer->handle())
        .arg(cl_long(sizes.at("elements") / at.parameter("WIDTH")))
        .arg(cl_int(store));
    plan->work.bytes["dram"] = double(from.buffer->bytes()) * (variant.writes ? 2 : 1);
    plan->work.flops = variant.writes ? 0 : double(sizes.at("elements"));
    plan->keep(from.buffer);
    plan->keep(to.buffer);
    return plan;
}

}  // namespace gpuopt
