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

// A tunable of a variant, handed to its kernel as -DNAME=value.
struct Parameter {
    std::string name;
    std::vector<std::int64_t> levels;
    std::int64_t standard;  // the level used when nothing better is known
    std::string meaning;
    bool alters_accuracy = false;  // a level other than the standard one rounds inputs: only taken when asked for
};

// What one run does, in numbers that do not depend on time.
struct Work {
    double flops = 0;
    std::map<std::string, double> special;  // results of special functions, by name
    // By memory class; "dram" is the compulsory traffic, "requested" what the inner loop asks global memory for, which
    // is the traffic of a device without caches.
    std::map<std::string, double> bytes;
};

// A configuration meets a device and a problem.
struct Case {
    const Device& device;
    DType dtype;
    const Sizes& sizes;
    const Parameters& parameters;

    std::int64_t size(const char* name) const { return sizes.at(name); }
    std::int64_t parameter(const char* name) const { return parameters.at(name); }
    std::int64_t element_bytes() const { return static_cast<std::int64_t>(facts(dtype).bytes); }
};

// What must hold before a configuration may run: `unmet` returns "" or the reason it may not.
struct Rule {
    bool of_device;  // true: the device lacks something; false: the variant's own constraint
    std::function<std::string(const Case&)> unmet;
    std::vector<DType> dtypes{};  // of a rule that is about nothing else: those it lets through
};

struct Variant {
    std::string name;
    std::string summary;
    std::vector<Parameter> parameters;
    std::function<Launch(const Case&)> launch;
    std::vector<Rule> rules;
    std::vector<std::string> needs{};  // device features in words: "images", "fp16"
    // What the input must be, in the workload's words: "symmetric", "grid", "columns".
    std::vector<std::string> input_properties{};
    std::string family{};  // of a workload of many questions: which one this row answers
};

struct Workload {
    std::string name;
    std::vector<DType> dtypes;
    std::vector<const Variant*> variants;

    std::vector<DType> dtypes_of(const Variant& variant) const;  // the workload's that the variant's rules let through
    const Variant& variant(const std::string& name) const;       // ParameterError listing the names there are
    std::string source_path(const Variant& variant) const { return name + "/" + variant.name + ".cl"; }
    std::string entry_point(const Variant& variant) const { return name + "_" + variant.name; }
};

// The table of each workload, defined in its folder.
#define WORKLOAD(name) const Workload& name##_workload();
#include "workloads/registry.def"

const std::vector<const Workload*>& workloads();
const Workload& workload(const std::string& name);

// Throws ParameterError for unknown, missing or undeclared values, UnsupportedError for a dtype, feature or rule that
// is not met.
void check_configuration(const Workload& workload, const Variant& variant, const Case& configuration);

// -D options of a configuration: REAL and each parameter.
std::string build_options(const Case& configuration);

// Rules several workloads share.
Rule needs_local_bytes(std::function<std::int64_t(const Case&)> bytes);
Rule work_group_fits(const char* parameter);
Rule multiple_of(const char* parameter, const char* divisor);
Rule loads_past_l1();  // parameter LOAD=1 is PTX

}  // namespace gpuopt
