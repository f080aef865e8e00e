// What a device computes: recurrences in registers, by operation, vector width and independent chains; and what a
// launch costs.
#include "workloads/microbench/rows.hpp"

namespace gpuopt {
namespace {

const Parameter width{"WIDTH", {1, 2, 4, 8, 16}, 4, "lanes of a chain"};
const Parameter chains{"CHAINS", {1, 2, 4, 8, 16}, 8, "independent chains of a work-item"};
const Parameter pairs_of_chains{"CHAINS", {2, 4, 8, 16}, 8, chains.meaning};
const Parameter few_widths{"WIDTH", {1, 4, 16}, 4, width.meaning};
const Parameter few_chains{"CHAINS", {1, 4, 8}, 4, chains.meaning};
const Parameter in_flight{
    "GROUPS", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}, 64, "work-groups in all"};
const Parameter tiles{"CHAINS", {1, 2, 4, 8}, 8, "independent accumulators of 16 x 8 a warp"};
constexpr std::int64_t steps = 16;  // of each chain in a trip: STEPS in microbench/include/chains.cl
constexpr double warp = 32;

std::int64_t items_in_flight(const Case& at) { return at.parameter("GROUPS") * at.parameter("LOCAL"); }
Launch as_many_groups(const Case& at) { return launch_1d(items_in_flight(at), at.parameter("LOCAL")); }

double all_steps(const Case& at) {
    return double(items_of_full_device(at) * at.parameter("CHAINS") * width_of(at) * steps) * double(at.size("trips"));
}
Work multiply_adds(const Case& at) {
    Work work;
    work.flops = 2 * all_steps(at);
    return work;
}
Work multiply_adds_and_additions(const Case& at) {
    Work work;
    work.flops = 1.5 * all_steps(at);
    work.special["issue"] = all_steps(at);
    return work;
}
Work one_chain_each(const Case& at) {
    Work work;
    work.flops = 2 * double(items_in_flight(at) * steps) * double(at.size("trips"));
    return work;
}
Work one_launch(const Case&) {
    Work work;
    work.special["launch"] = 1;
    return work;
}
std::function<Work(const Case&)> results_of(const char* operation, double in_a_step) {
    return [=](const Case& at) {
        Work work;
        work.special[operation] = in_a_step * all_steps(at);
        return work;
    };
}

// NVIDIA's compiler did not end on int_mad with 256 lanes in 5 minutes (driver 580, 2026-11).
Rule stays_in_registers() {
    return {.of_device = false, .unmet = [](const Case& at) {
                const auto lanes = at.parameter("CHAINS") * at.parameter("WIDTH");
                return lanes <= 128 ? std::string()
                                    : std::to_string(lanes) + " lanes a work-item leave the registers; at most 128";
            }};
}
Rule computes_in_half() {
    return {.of_device = true, .unmet = [](const Case& at) {
                return at.dtype != DType::f16 || at.device.fp16 ? std::string() : at.device.name + " has no fp16";
            }};
}
MicrobenchVariant integer(const char* name, const char* summary, const char* counted, double in_a_step) {
    return {{
                .name = name,
                .summary = summary,
                .parameters = {width, chains, local_size(), groups_a_unit()},
                .launch = full_device,
                .rules = {work_group_fits("LOCAL"), only_for({DType::i32, DType::u32, DType::i64, DType::u64}),
                          stays_in_registers()},
                .family = "integer",
            },
            {
                .outputs = items_of_full_device,
                .work = results_of(counted, in_a_step),
            }};
}

MicrobenchVariant special(const char* name, const char* summary, const std::vector<DType>& dtypes = {DType::f32}) {
    return {{
                .name = name,
                .summary = summary,
                .parameters = {few_widths, few_chains, local_size(), groups_a_unit()},
                .launch = full_device,
                .rules = {work_group_fits("LOCAL"), only_for(dtypes)},
                .family = "special",
            },
            {
                .outputs = items_of_full_device,
                .work = results_of(name, 1),
            }};
}

MicrobenchVariant tensor(const char* name, const char* summary, double depth) {
    return {{
                .name = name,
                .summary = summary,
                .parameters = {tiles, local_size(), groups_a_unit()},
                .launch = full_device,
                .rules = {work_group_fits("LOCAL"), only_for({DType::f32}),
                          needs_ptx("it is", [](const Case&) { return true; })},
                .family = "tensor",
            },
            {
                .outputs = items_of_full_device,
                .work = results_of(name, 2 * 16 * 8 * depth / warp),
            }};
}

}  // namespace

MicrobenchRows arithmetic_rows() {
    return {
        {{
             .name = "fma",
             .summary = "x = fma(x, y, z) in CHAINS chains of WIDTH lanes a work-item",
             .parameters = {width, chains, local_size(), groups_a_unit()},
             .launch = full_device,
             .rules = {work_group_fits("LOCAL"), only_for({DType::f16, DType::f32, DType::f64}), computes_in_half(),
                       stays_in_registers()},
             .family = "flops",
         },
         {
             .outputs = items_of_full_device,
             .work = multiply_adds,
         }},
        {{
             .name = "fma_add",
             .summary = "x = fma(x, y, z) and w = z - w, each in half of CHAINS chains of WIDTH lanes a work-item",
             .parameters = {width, pairs_of_chains, local_size(), groups_a_unit()},
             .launch = full_device,
             .rules = {work_group_fits("LOCAL"), only_for(real_dtypes), stays_in_registers()},
             .family = "flops",
         },
         {
             .outputs = items_of_full_device,
             .work = multiply_adds_and_additions,
         }},
        integer("int_mad", "x = x y + z and y = y x + w in turn", "mad", 2),
        integer("int_xorshift", "x ^= x << a; x ^= x >> b; x ^= x << c", "shift_xor", 3),
        special("native_rsqrt", "x = native_rsqrt(x) + z"),
        special("rsqrt", "x = rsqrt(x) + z", real_dtypes),
        special("native_recip", "x = native_recip(x) + z"),
        special("divide", "x = z / x + z", real_dtypes),
        special("native_exp2", "x = native_exp2(-x) + z"),
        special("native_sin", "x = native_sin(x) + z"),
        special("sqrt", "x = sqrt(x) + z", real_dtypes),
        tensor("mma_fp16", "D = A B + D of fp16 on NVIDIA's tensor cores: mma.sync 16 x 8 x 16, sums in fp32", 16),
        tensor("mma_bf16", "D = A B + D of bf16 on NVIDIA's tensor cores: mma.sync 16 x 8 x 16, sums in fp32", 16),
        tensor("mma_tf32", "D = A B + D of tf32 on NVIDIA's tensor cores: mma.sync 16 x 8 x 8, sums in fp32", 8),
        {{
             .name = "nothing",
             .summary = "one work-item copies one scalar: what a launch costs",
             .launch = one_item,
             .family = "launch",
         },
         {
             .outputs = one,
             .work = one_launch,
         }},
        {{
             .name = "waves",
             .summary = "GROUPS work-groups run the same dependent chain: its time stays flat until the device is full",
             .parameters = {local_size(), in_flight},
             .launch = as_many_groups,
             .rules = {work_group_fits("LOCAL"), only_for(real_dtypes)},
             .family = "concurrency",
         },
         {
             .outputs = items_in_flight,
             .work = one_chain_each,
         }},
    };
}

}  // namespace gpuopt
