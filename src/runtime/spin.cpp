#include "runtime/spin.hpp"

#include <algorithm>

#include "runtime/error.hpp"

namespace gpuopt {

Spin::Spin(std::shared_ptr<const Program> program, const cl::Context& context, const cl::CommandQueue& queue)
    : program_(std::move(program)) {
    constexpr double few = 1 << 16, many = 1 << 18;
    constexpr cl_uint zero = 0;
    checked([&] {
        kernel_ = cl::Kernel(program_->handle, "spin");
        state_ = cl::Buffer(context, CL_MEM_READ_WRITE, sizeof zero);
        return queue.enqueueWriteBuffer(state_, CL_TRUE, 0, sizeof zero, &zero);
    });
    const auto measured = [&](double steps) {
        enqueue(queue, steps);
        checked([&] { return queue.finish(); });
        return took_ms();
    };
    measured(few);  // what a first run takes besides
    double short_ms = measured(few), long_ms = measured(many);
    for (int again = 0; again < 2; ++again) {  // others may work there, too
        short_ms = std::min(short_ms, measured(few));
        long_ms = std::min(long_ms, measured(many));
    }
    if (!(short_ms > 0 && long_ms > 2 * short_ms)) throw Error("the time of a kernel does not show in its event");
    step_ms_ = long_ms / many;
}

void Spin::enqueue(const cl::CommandQueue& queue, double steps) {
    steps_ = std::clamp(steps, 1.0, 4e9);
    checked([&] {
        kernel_.setArg(0, state_);
        kernel_.setArg(1, static_cast<cl_uint>(steps_));
        return queue.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(1), cl::NDRange(1), nullptr, &event_);
    });
}

void Spin::start(const cl::CommandQueue& queue, std::size_t commands) {
    constexpr double least_ms = 0.05, most_ms = 200;
    commands_ = commands;
    enqueue(queue, std::min(least_ms + command_ms_ * double(commands), most_ms) / step_ms_);
    checked([&] { return queue.flush(); });
}

bool Spin::goes_on() const {
    const auto status = checked([&] { return event_.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(); });
    if (status < 0) rethrow_opencl("kernel execution", status);
    return status != CL_COMPLETE;
}

void Spin::wait() const {
    while (goes_on()) {
    }
}

cl_ulong Spin::end() const {
    return checked([&] { return event_.getProfilingInfo<CL_PROFILING_COMMAND_END>(); });
}

double Spin::took_ms() const {
    const auto started = checked([&] { return event_.getProfilingInfo<CL_PROFILING_COMMAND_START>(); });
    return double(cl_long(end() - started)) / 1e6;
}

// A device's clock rises under load: a step takes what it took the last time. The host's own pace changes, too.
void Spin::learn(double enqueuing_ms) {
    constexpr double reserve = 1.5, forgets = 0.9;
    if (const auto ms = took_ms(); ms > 0) step_ms_ = ms / steps_;
    command_ms_ = std::max(reserve * enqueuing_ms / double(std::max<std::size_t>(1, commands_)), forgets * command_ms_);
}

}  // namespace gpuopt
