#include "workloads/own_plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace gpuopt {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

// CLHPP's texts may end with the terminator that the driver counts.
std::string without_end(std::string text) {
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
}

template <cl_uint Info>
auto argument_info(const cl::Kernel& kernel, cl_uint at) {
    return checked([&] { return kernel.getArgInfo<Info>(at); });
}

ArgumentFacts facts_of(const cl::Kernel& kernel, cl_uint at) {
    ArgumentFacts found;
    found.name = without_end(argument_info<CL_KERNEL_ARG_NAME>(kernel, at));
    found.type = without_end(argument_info<CL_KERNEL_ARG_TYPE_NAME>(kernel, at));
    switch (argument_info<CL_KERNEL_ARG_ADDRESS_QUALIFIER>(kernel, at)) {
        case CL_KERNEL_ARG_ADDRESS_GLOBAL: found.address = "global"; break;
        case CL_KERNEL_ARG_ADDRESS_LOCAL: found.address = "local"; break;
        case CL_KERNEL_ARG_ADDRESS_CONSTANT: found.address = "constant"; break;
        default: found.address = "private";
    }
    found.is_const = (argument_info<CL_KERNEL_ARG_TYPE_QUALIFIER>(kernel, at) & CL_KERNEL_ARG_TYPE_CONST) != 0;
    found.is_image = argument_info<CL_KERNEL_ARG_ACCESS_QUALIFIER>(kernel, at) != CL_KERNEL_ARG_ACCESS_NONE;
    return found;
}

void check_number(const OwnStep& step, const cl::Kernel& kernel) {
    const auto wanted = checked([&] { return kernel.getInfo<CL_KERNEL_NUM_ARGS>(); });
    if (wanted != step.arguments.size())
        throw ParameterError("arguments",
                             "kernel " + step.entry_point + " takes " + std::to_string(wanted) + ", not " +
                                 std::to_string(step.arguments.size()),
                             "declare each of its arguments, in its order");
}

// A driver's own figure leaves out arguments (PoCL 3.1), or is taken before they are set.
void check_local_memory(const OwnStep& step, const Device& device, const cl::Kernel& kernel) {
    std::uint64_t of_arguments = 0;
    for (const auto& argument : step.arguments)  // a sum that would wrap around is more than any device has
        if (__builtin_add_overflow(of_arguments, std::uint64_t{argument.local_bytes}, &of_arguments))
            of_arguments = std::numeric_limits<std::uint64_t>::max() / 2;
    if (of_arguments == 0) return;
    const auto told = checked([&] { return kernel.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(device.handle); });
    const auto own = told > 1 ? told : 0;  // NVIDIA's 1 is of a kernel that has no arrays of its own
    const auto most = own > 0 ? most_local_bytes(device) : device.local_bytes;
    if (own + of_arguments > most)
        throw UnsupportedError(UnsupportedError::Because::device, "kernel " + step.entry_point + " takes " +
                                                                      std::to_string(own + of_arguments) +
                                                                      " bytes of local memory; " + device.name +
                                                                      " has " + std::to_string(device.local_bytes));
}

void check_compiled_size(const OwnStep& step, const Device& device, const cl::Kernel& kernel) {
    const auto compiled =
        checked([&] { return kernel.getWorkGroupInfo<CL_KERNEL_COMPILE_WORK_GROUP_SIZE>(device.handle); });
    const auto& local = step.launch.local;
    const std::array<std::size_t, 3> wanted{compiled[0], compiled[1], compiled[2]};
    if (wanted[0] == 0 || wanted == local) return;
    const auto text = [](const std::array<std::size_t, 3>& size) {
        return std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " + std::to_string(size[2]);
    };
    throw UnsupportedError(
        UnsupportedError::Because::constraint,
        "kernel " + step.entry_point + " is written for work-groups of " + text(wanted) + ", not of " + text(local));
}

constexpr std::size_t widest_flag = 8;

void check_flag(const OwnStep& step, std::size_t number, std::size_t steps) {
    if (step.does == OwnStep::Does::launches) return;
    if (step.flag_bytes == 0 || step.flag_bytes > std::min(widest_flag, step.flag->bytes()))
        throw ParameterError("flag", "its first element has " + std::to_string(step.flag_bytes) + " bytes",
                             "give an array of at least one whole number");
    if (step.does == OwnStep::Does::asks && (step.past <= number || step.past > steps))
        throw ParameterError(
            "past", "step " + std::to_string(step.past) + " does not come after step " + std::to_string(number),
            "lead to a later step");
}

void add_clear(Prepared& plan, const OwnStep& step) {
    plan.add(
        "clear",
        [flag = step.flag, bytes = step.flag_bytes](const cl::CommandQueue& queue, const std::vector<cl::Event>* wait) {
            cl::Event event;
            checked([&] { return queue.enqueueFillBuffer(flag->handle(), cl_uchar(0), 0, bytes, wait, &event); });
            return event;
        },
        {step.flag});
}

void add_question(Prepared& plan, const OwnStep& step) {
    plan.add(
        [flag = step.flag, bytes = step.flag_bytes](const cl::CommandQueue& queue) {
            std::array<unsigned char, widest_flag> held{};
            checked([&] { return queue.enqueueReadBuffer(flag->handle(), CL_TRUE, 0, bytes, held.data()); });
            return held == std::array<unsigned char, widest_flag>{};
        },
        step.past, {step.flag});
}

void add_launch(Prepared& plan, const OwnStep& step) {
    const auto& device = plan.session()->device();
    const auto kernel = kernel_of(*step.program, step.entry_point);
    check_number(step, kernel);
    check_compiled_size(step, device, kernel);
    check_local_memory(step, device, kernel);
    plan.add(step.program, step.entry_point, step.launch);
    for (const auto& argument : step.arguments) {
        if (argument.memory) {
            plan.keep(argument.memory);
            plan.arg(argument.memory);
        } else if (argument.sampler) {
            plan.keep(argument.sampler);
            plan.arg(*argument.sampler);
        } else if (argument.local_bytes > 0) {
            plan.arg(cl::Local(argument.local_bytes));
        } else {
            plan.arg(argument.value);
        }
    }
}

}  // namespace

std::vector<std::string> entry_points(const Program& program) {
    std::vector<std::string> names;
    std::string text = checked([&] { return program.handle.getInfo<CL_PROGRAM_KERNEL_NAMES>(); });
    text = without_end(std::move(text));
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find(';', begin), text.size());
        if (end > begin) names.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return names;
}

cl::Kernel kernel_of(const Program& program, const std::string& entry_point) {
    const auto names = entry_points(program);
    if (std::find(names.begin(), names.end(), entry_point) == names.end())
        throw ParameterError("name", "there is no kernel " + entry_point + " in " + program.path,
                             names.empty() ? "give a source with a __kernel function" : "use one of " + joined(names));
    return checked([&] { return cl::Kernel(program.handle, entry_point.c_str()); });
}

std::optional<std::vector<ArgumentFacts>> arguments_of(const Program& program, const std::string& entry_point) {
    const auto kernel = kernel_of(program, entry_point);
    std::vector<ArgumentFacts> found;
    try {
        const auto count = checked([&] { return kernel.getInfo<CL_KERNEL_NUM_ARGS>(); });
        for (cl_uint at = 0; at < count; ++at) found.push_back(facts_of(kernel, at));
    } catch (const OpenCLError&) {
        return std::nullopt;
    }
    return found;
}

std::shared_ptr<Prepared> prepare_own(const std::shared_ptr<Session>& session, const std::vector<OwnStep>& steps,
                                      std::size_t main_step, Work work) {
    if (main_step >= steps.size() || steps[main_step].does != OwnStep::Does::launches)
        throw ParameterError("main_step", "no launch of " + std::to_string(steps.size()) + " steps has this number",
                             "name a launch");
    for (std::size_t i = 0; i < steps.size(); ++i) check_flag(steps[i], i, steps.size());
    auto plan = std::make_shared<Prepared>(session);
    for (const auto& step : steps) switch (step.does) {
            case OwnStep::Does::launches: add_launch(*plan, step); continue;
            case OwnStep::Does::clears: add_clear(*plan, step); break;
            case OwnStep::Does::asks: add_question(*plan, step); break;
        }
    plan->main_step = main_step;
    plan->work = std::move(work);
    return plan;
}

}  // namespace gpuopt
