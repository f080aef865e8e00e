// Prepared plans and their samples.
#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/plans.hpp"
#include "bindings/program_code.hpp"
#include "bindings/text.hpp"
#include "bindings/topics.hpp"
#include "runtime/device_array.hpp"
#include "workloads/prepared.hpp"

namespace gpuopt {
namespace py = pybind11;

py::dict as_dict(const Work& work) {
    py::dict result;
    result["flops"] = work.flops;
    result["special"] = work.special;
    result["bytes"] = work.bytes;
    return result;
}

namespace {

// A whole number within limits, of NumPy's too. Raises ParameterError.
std::size_t whole_number(const char* name, const py::object& given, std::size_t least, std::size_t most) {
    return py::module_::import("gpuopt.checked").attr("whole_number")(name, given, least, most).cast<std::size_t>();
}

py::dict as_dict(const Samples& samples) {
    py::dict result;
    result["device_ms"] = samples.device_ms;
    result["busy_ms"] = samples.busy_ms;
    result["all_ms"] = samples.all_ms;
    result["queued_ms"] = samples.queued_ms;
    result["wall_ms"] = samples.wall_ms;
    result["start_s"] = samples.start_s;
    return result;
}

py::object known(int value) { return value < 0 ? py::object(py::none()) : py::object(py::int_(value)); }

py::dict as_dict(const Step& step, const Device& device) {
    const auto sizes = [&](const std::array<std::size_t, 3>& all) {
        return std::vector<std::size_t>(all.begin(), all.begin() + step.launch.dimensions);
    };
    py::dict result;
    result["entry_point"] = step.entry_point;
    result["global_size"] = sizes(step.launch.global);
    result["local_size"] = sizes(step.launch.local);
    result["queue"] = step.second_queue ? 1 : 0;
    // The step that a yes leads to.
    if (step.question) result["past"] = step.past;
    // A command without a kernel.
    if (!step.program) {
        for (const auto* name : {"source", "source_sha256", "binary_sha256", "options", "log", "registers",
                                 "spill_bytes", "local_bytes", "private_bytes"})
            result[name] = py::none();
        result["build_ms"] = 0.0;
        result["from_disk"] = false;
        return result;
    }
    result["source"] = step.program->path;
    result["source_sha256"] = step.program->source_sha256;
    result["binary_sha256"] = step.program->binary_sha256;
    result["options"] = step.program->options;
    result["log"] = decoded(step.program->log);
    result["build_ms"] = step.program->build_ms;
    result["from_disk"] = step.program->from_disk;
    result["registers"] = known(step.program->registers);
    result["spill_bytes"] = known(step.program->spill_bytes);
    result["local_bytes"] =
        checked([&] { return step.kernel.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(device.handle); });
    result["private_bytes"] =
        checked([&] { return step.kernel.getWorkGroupInfo<CL_KERNEL_PRIVATE_MEM_SIZE>(device.handle); });
    return result;
}

}  // namespace

void bind_result(py::module_& module) {
    py::class_<Prepared, std::shared_ptr<Prepared>>(module, "Prepared",
                                                    "A built and bound plan of kernels; run it, or take samples of it.")
        .def("run", &Prepared::run, py::call_guard<WithoutGil>(), "Runs the plan once and waits for it.")
        .def("start", &Prepared::start, py::call_guard<WithoutGil>(),
             "Enqueues a run without waiting for it, but on a CPU device.")
        .def(
            "sample",
            [](Prepared& plan, const py::object& count, const py::object& batch, const py::object& period) {
                constexpr std::size_t most = 1'000'000;  // far above what statistics needs; samples take memory
                const auto samples_wanted = whole_number("count", count, 0, most);
                const auto runs_of_each = whole_number("batch", batch, 1, most);
                if (!PyBool_Check(period.ptr())) throw ParameterError("period", "it is no flag", "give True or False");
                const auto samples = [&] {
                    const WithoutGil release;
                    return plan.sample(samples_wanted, runs_of_each, period.ptr() == Py_True);
                }();
                return as_dict(samples);
            },
            py::arg("count"), py::arg("batch") = 1, py::arg("period") = false,
            "Times `count` samples of `batch` runs each; lists of milliseconds a run, and start_s.")
        .def(
            "relocate",
            [](Prepared& plan, const py::object& pad_bytes) {
                const auto pad = whole_number("pad_bytes", pad_bytes, 0, std::size_t(1) << 62);
                const WithoutGil release;
                return plan.relocate(pad);
            },
            py::arg("pad_bytes"), "Moves all memory of the plan to another place; False where it cannot.")
        .def_property_readonly("work", [](const Prepared& plan) { return as_dict(plan.work); })
        .def_property_readonly("kernels",
                               [](const Prepared& plan) {
                                   py::list list;
                                   for (const auto& step : plan.steps())
                                       list.append(as_dict(step, plan.session()->device()));
                                   return list;
                               })
        .def(
            "code",
            [](const Prepared& plan, const py::object& step) -> py::object {
                if (plan.steps().empty()) throw ParameterError("step", "the plan has none", "use a plan with kernels");
                const auto& program = plan.steps()[whole_number("step", step, 0, plan.steps().size() - 1)].program;
                return program ? code_of(*program) : py::object(py::none());
            },
            py::arg("step"), "What a step's kernel was built from and what the driver made of it; None of a copy.")
        .def_property_readonly(
            "source",
            [](const Prepared& plan) {
                const auto words = plan.source ? static_cast<std::int64_t>(plan.source->bytes() / 4) : 0;
                return words > 0 ? py::cast(DeviceArray{plan.source, DType::f32, {words}}) : py::object(py::none());
            },
            "What most of the reading is from, as float32 words whatever it holds; None where nothing is.")
        .def_readonly("main_step", &Prepared::main_step, "Index in `kernels` of the kernel that carries the variant.");

    module.def(
        "set_spin",
        [](const Device& device, bool on) {
            const WithoutGil release;
            return session_of(device)->set_spin(on);
        },
        py::arg("device"), py::arg("on"),
        "Whether runs that are timed wait behind a kernel that takes time, or behind an event of ours, and whether "
        "they "
        "do so now; for tests.");
}

}  // namespace gpuopt
