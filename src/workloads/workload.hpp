// The tables every workload is made of. Adding a variant is one .cl file and one row; source path, entry point, build
// options, test ids, sweep, labels and documentation derive from the row.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/device.hpp"
#include "runtime/dtype.hpp"
#include "runtime/launch.hpp"

namespace gpuopt {

using Sizes = std::map<std::string, std::int64_t>;
using Parameters = std::map<std::string, std::int64_t>;

// Parameters that Python hands over as one object: reading a dict takes longer than some kernels.
struct Levels {
    Parameters values;
};

// A tunable of a variant, handed to its kernel as -DNAME=value.
struct Parameter {
    std::string name;
    std::vector<std::int64_t> levels;
    std::int64_t standard;  // the level used when nothing better is known
    std::string meaning;
    bool alters_accuracy = false;  // other levels than the standard one round the inputs: taken only when asked for
};

// What one run does, in numbers that do not depend on time.
struct Work {
    double flops = 0;
    std::map<std::string, double> special;  // results of special functions, by name
    // By memory class. "dram" is the compulsory traffic, exactly. "local" counts what work-items of a subgroup read at
    // one address once. "requested" is what each work-item asks global memory for, the traffic of a device without
    // caches: a model and no limit, since a subgroup loads one address once, and caches serve what was read before.
    std::map<std::string, double> bytes;
};

// A configuration on a device, at the sizes of a problem.
struct Case {
    const Device& device;
    DType dtype;
    const Sizes& sizes;
    const Parameters& parameters;

    std::int64_t size(const char* name) const { return sizes.at(name); }
    std::int64_t parameter(const char* name) const { return parameters.at(name); }
    // The same, or `otherwise` where the variant has no such parameter.
    std::int64_t parameter_or(const char* name, std::int64_t otherwise) const {
        const auto found = parameters.find(name);
        return found == parameters.end() ? otherwise : found->second;
    }
    // Work-items of the widest subgroup, whose reads of one address are one.
    std::int64_t lanes() const { return device.is_nvidia() ? 32 : 64; }
    std::int64_t element_bytes() const { return static_cast<std::int64_t>(facts(dtype).bytes); }
};

// What must hold before a configuration may run: `unmet` returns "" or the reason it may not.
struct Rule {
    bool of_device;  // true: the device lacks something; false: the variant's own constraint
    std::function<std::string(const Case&)> unmet;
    std::vector<DType> dtypes{};  // of a rule about the dtype alone: the dtypes that it allows
};

// A row of a workload's table. A workload that wants more of its variants derives its own row from this one and a
// struct of details, so that a row is written as {{.name = ..., .summary = ...}, {details}}.
struct Variant {
    std::string name;
    std::string summary;
    std::vector<Parameter> parameters{};
    std::function<Launch(const Case&)> launch;
    std::vector<Rule> rules{};
    std::vector<std::string> needs{};  // device features in words: "images", "fp16"
    // What the input must be, in the workload's words: "symmetric", "grid", "columns".
    std::vector<std::string> input_properties{};
    std::string family{};  // which question the row answers, in a workload that asks several
};

struct Workload {
    std::string name;
    std::vector<DType> dtypes;
    std::vector<const Variant*> variants;
    Sizes usual{};  // sizes at which a configuration is held against a device before there is an input

    std::vector<DType> dtypes_of(const Variant& variant) const;  // those of the workload that the variant's rules allow
    const Variant& variant(const std::string& name) const;       // ParameterError listing the names there are
    std::string source_path(const Variant& variant) const { return name + "/" + variant.name + ".cl"; }
    std::string entry_point(const Variant& variant) const { return name + "_" + variant.name; }
};

// The table of each workload, defined in its folder.
#define WORKLOAD(name) const Workload& name##_workload();
#include "workloads/registry.def"

const std::vector<const Workload*>& workloads();
const Workload& workload(const std::string& name);

// A workload of rows that live as long as the program.
template <class Row>
Workload workload_of(std::string name, std::vector<DType> dtypes, const std::vector<Row>& rows, Sizes usual = {}) {
    Workload made{std::move(name), std::move(dtypes), {}, std::move(usual)};
    for (const auto& row : rows) made.variants.push_back(&row);
    return made;
}
// The row of a workload whose rows are all of this type. Throws ParameterError listing the names there are.
template <class Row>
const Row& row_of(const Workload& workload, const std::string& name) {
    return static_cast<const Row&>(workload.variant(name));
}

// Throws ParameterError for unknown, missing or undeclared values, UnsupportedError for a dtype, feature or rule that
// is not met.
void check_configuration(const Workload& workload, const Variant& variant, const Case& configuration);

// Why a configuration cannot run on a device whatever the input, "" where it can: the same at the workload's usual
// sizes. A rule that asks for a size that is not among them is not judged.
std::string refusal(const Workload& workload, const Variant& variant, const Case& configuration);

// -D options of a configuration: REAL and each parameter.
std::string build_options(const Case& configuration);

// Rules several workloads share.
Rule constraint(std::function<bool(const Case&)> holds, std::string reason);
Rule for_cpus();  // whose work-items do what work-groups do elsewhere
Rule needs_local_bytes(std::function<std::int64_t(const Case&)> bytes);
// The device allows work-groups of `items` work-items; `shape` describes such a group in messages (default: the
// number).
Rule work_group_fits(std::function<std::int64_t(const Case&)> items,
                     std::function<std::string(const Case&)> shape = nullptr);
Rule work_group_fits(const char* parameter);
Rule work_group_fits(const char* across, const char* down);
Rule multiple_of(const char* parameter, const char* divisor);
// `what` ("LOAD=1 is") is written in PTX, which only NVIDIA's compiler reads. The rule holds where `wanted` is false.
Rule needs_ptx(std::string what, std::function<bool(const Case&)> wanted);
// The same for instructions that NVIDIA's chips have since a compute capability, 80 of "sm_80".
Rule needs_ptx(std::string what, int capability, std::function<bool(const Case&)> wanted);
Rule loads_past_l1();  // LOAD=1

}  // namespace gpuopt
