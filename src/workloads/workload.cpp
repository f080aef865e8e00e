#include "workloads/workload.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace gpuopt {
namespace {

template <class Items, class Name>
std::string list_of(const Items& items, Name name) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ", ") + name(item);
    return text;
}

std::string missing_feature(const std::string& feature, const Device& device) {
    static const std::map<std::string, bool Device::*> features = {{"images", &Device::image_support},
                                                                   {"fp16", &Device::fp16},
                                                                   {"fp64", &Device::fp64},
                                                                   {"subgroups", &Device::subgroups}};
    return device.*features.at(feature) ? "" : device.name + " has no " + feature;
}

void require(const std::string& problem, UnsupportedError::Because because, const std::string& who) {
    if (!problem.empty()) throw UnsupportedError(because, who + ": " + problem);
}

}  // namespace

const std::vector<const Workload*>& workloads() {
    static const std::vector<const Workload*> all = {
#define WORKLOAD(name) &name##_workload(),
#include "workloads/registry.def"
    };
    return all;
}

const Workload& workload(const std::string& name) {
    for (const auto* candidate : workloads())
        if (candidate->name == name) return *candidate;
    throw ParameterError("workload", "there is none called \"" + name + "\"",
                         "use one of " + list_of(workloads(), [](const Workload* item) { return item->name; }));
}

const Variant& Workload::variant(const std::string& wanted) const {
    for (const auto* candidate : variants)
        if (candidate->name == wanted) return *candidate;
    throw ParameterError("variant", name + " has none called \"" + wanted + "\"",
                         "use one of " + list_of(variants, [](const Variant* item) { return item->name; }));
}

std::vector<DType> Workload::dtypes_of(const Variant& variant) const {
    std::vector<DType> found;
    std::copy_if(dtypes.begin(), dtypes.end(), std::back_inserter(found), [&](DType dtype) {
        return std::all_of(variant.rules.begin(), variant.rules.end(), [&](const Rule& rule) {
            return rule.dtypes.empty() || std::find(rule.dtypes.begin(), rule.dtypes.end(), dtype) != rule.dtypes.end();
        });
    });
    return found;
}

void check_configuration(const Workload& workload, const Variant& variant, const Case& configuration) {
    const auto who = workload.name + " " + variant.name;
    for (const auto& [name, value] : configuration.parameters) {
        const auto declared = std::find_if(variant.parameters.begin(), variant.parameters.end(),
                                           [&, &wanted = name](const Parameter& item) { return item.name == wanted; });
        if (declared == variant.parameters.end())
            throw ParameterError(
                name, who + " has no such parameter",
                variant.parameters.empty()
                    ? "it has none"
                    : "it has " + list_of(variant.parameters, [](const Parameter& item) { return item.name; }));
        if (std::find(declared->levels.begin(), declared->levels.end(), value) == declared->levels.end())
            throw ParameterError(
                name, std::to_string(value) + " is not one of its levels",
                "use one of " + list_of(declared->levels, [](std::int64_t level) { return std::to_string(level); }));
    }
    for (const auto& parameter : variant.parameters)
        if (!configuration.parameters.count(parameter.name))
            throw ParameterError(parameter.name, who + " was given no value", "name one");

    using Because = UnsupportedError::Because;
    if (std::find(workload.dtypes.begin(), workload.dtypes.end(), configuration.dtype) == workload.dtypes.end())
        throw UnsupportedError(
            Because::constraint,
            workload.name + " has no kernels for " + facts(configuration.dtype).numpy_name + "; use " +
                list_of(workload.dtypes, [](DType dtype) { return std::string(facts(dtype).numpy_name); }));
    if (configuration.dtype == DType::f64) require(missing_feature("fp64", configuration.device), Because::device, who);
    for (const auto& feature : variant.needs)
        require(missing_feature(feature, configuration.device), Because::device, who);
    for (const auto& rule : variant.rules)
        require(rule.unmet(configuration), rule.of_device ? Because::device : Because::constraint, who);
}

std::string refusal(const Workload& workload, const Variant& variant, const Case& configuration) {
    if (configuration.dtype == DType::f64 && !configuration.device.fp64) return "no fp64";
    for (const auto& feature : variant.needs)
        if (auto missing = missing_feature(feature, configuration.device); !missing.empty()) return missing;
    const Case at{configuration.device, configuration.dtype, workload.usual, configuration.parameters};
    for (const auto& rule : variant.rules) try {
            if (auto unmet = rule.unmet(at); !unmet.empty()) return unmet;
        } catch (const std::out_of_range&) {  // of a size that only an input has
        }
    return "";
}

std::string build_options(const Case& configuration) {
    // Halves are held as bits: not every device can compute with them.
    const bool half = configuration.dtype == DType::f16;
    std::string options =
        "-cl-std=CL1.2 -DREAL=" + std::string(half ? "ushort" : facts(configuration.dtype).opencl_name);
    if (configuration.dtype == DType::f64) options += " -DREAL_IS_DOUBLE";
    if (configuration.dtype == DType::f32) options += " -DREAL_IS_FLOAT";
    if (half) options += " -DREAL_IS_HALF";
    for (const auto& [name, value] : configuration.parameters) options += " -D" + name + "=" + std::to_string(value);
    // Registers and spills in the build log; the only way to see them through OpenCL.
    if (configuration.device.is_nvidia()) options += " -cl-nv-verbose";
    return options;
}

Rule constraint(std::function<bool(const Case&)> holds, std::string reason) {
    return {.of_device = false, .unmet = [holds = std::move(holds), reason = std::move(reason)](const Case& at) {
                return holds(at) ? std::string() : reason;
            }};
}

Rule needs_local_bytes(std::function<std::int64_t(const Case&)> bytes) {
    return {.of_device = true, .unmet = [bytes = std::move(bytes)](const Case& at) {
                const auto wanted = bytes(at);
                return wanted <= static_cast<std::int64_t>(at.device.local_bytes)
                           ? std::string()
                           : std::to_string(wanted) + " bytes of local memory; " + at.device.name + " has " +
                                 std::to_string(at.device.local_bytes);
            }};
}

Rule for_cpus() {
    return {.of_device = true, .unmet = [](const Case& at) {
                return at.device.type == DeviceType::cpu ? std::string()
                                                         : "its work-items do what work-groups do on " + at.device.name;
            }};
}

Rule work_group_fits(std::function<std::int64_t(const Case&)> items, std::function<std::string(const Case&)> shape) {
    return {.of_device = true, .unmet = [items = std::move(items), shape = std::move(shape)](const Case& at) {
                const auto wanted = items(at);
                return wanted <= static_cast<std::int64_t>(at.device.max_work_group_size)
                           ? std::string()
                           : "a work-group of " + (shape ? shape(at) : std::to_string(wanted)) + "; " + at.device.name +
                                 " allows " + std::to_string(at.device.max_work_group_size);
            }};
}

Rule work_group_fits(const char* parameter) {
    return work_group_fits([parameter](const Case& at) { return at.parameter(parameter); });
}

Rule work_group_fits(const char* across, const char* down) {
    return work_group_fits([across, down](const Case& at) { return at.parameter(across) * at.parameter(down); });
}

Rule multiple_of(const char* parameter, const char* divisor) {
    return constraint(
        [parameter, divisor](const Case& at) { return at.parameter(parameter) % at.parameter(divisor) == 0; },
        std::string(parameter) + " must be a multiple of " + divisor);
}

Rule needs_ptx(std::string what, std::function<bool(const Case&)> wanted) {
    return needs_ptx(std::move(what), 0, std::move(wanted));
}

Rule needs_ptx(std::string what, int capability, std::function<bool(const Case&)> wanted) {
    return {.of_device = true,
            .unmet = [what = std::move(what), capability, wanted = std::move(wanted)](const Case& at) -> std::string {
                if (!wanted(at)) return "";
                if (!at.device.is_nvidia()) return what + " written in PTX; " + at.device.name + " does not read it";
                const auto own = at.device.compute_capability();
                if (own == 0 || own >= capability) return "";
                return what + " of instructions since sm_" + std::to_string(capability) + "; " + at.device.name +
                       " has " + at.device.architecture;
            }};
}

Rule loads_past_l1() {
    return needs_ptx("LOAD=1 is", [](const Case& at) { return at.parameter("LOAD") == 1; });
}

}  // namespace gpuopt
