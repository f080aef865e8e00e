#include "workloads/prepared.hpp"

#include <algorithm>
#include <chrono>

namespace gpuopt {

void Prepared::add(std::shared_ptr<const Program> program, const std::string& entry_point, const Launch& launch) {
    Step step;
    step.kernel = checked([&] { return cl::Kernel(program->handle, entry_point.c_str()); });
    check_launch(launch, session_->device(), step.kernel);
    step.launch = launch;
    step.program = std::move(program);
    step.entry_point = entry_point;
    steps_.push_back(std::move(step));
    next_argument_ = 0;
}

void Prepared::add(const std::string& name, Command command) {
    Step step;
    step.command = std::move(command);
    step.entry_point = name;
    steps_.push_back(std::move(step));
    next_argument_ = 0;
}

Prepared& Prepared::arg(const Scalar& value) {
    checked([&] { return steps_.back().kernel.setArg(next_argument_, value.size, value.bytes); });
    ++next_argument_;
    return *this;
}

void Prepared::rebind(std::size_t step, cl_uint argument, const Buffer& buffer) {
    checked([&] { return steps_.at(step).kernel.setArg(argument, buffer.handle()); });
}

void Prepared::in_second_queue() {
    session_->second_queue();
    steps_.back().second_queue = two_queues_ = true;
}

void Prepared::wait_for(std::vector<std::size_t> steps) { steps_.back().after = std::move(steps); }

std::size_t Prepared::runs_behind_a_gate() const {
    constexpr std::size_t most_commands = 1024;
    const auto commands =
        std::count_if(steps_.begin(), steps_.end(), [](const Step& step) { return !step.launch.empty(); });
    return std::max<std::size_t>(1, most_commands / std::max<std::size_t>(1, static_cast<std::size_t>(commands)));
}

void Prepared::enqueue(std::vector<cl::Event>& events, const cl::Event* gate) {
    std::vector<cl::Event> of_step(two_queues_ ? steps_.size() : 0);
    cl::Event last_of_second;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const auto& step = steps_[i];
        const auto& launch = step.launch;
        if (launch.empty()) continue;
        const auto range = [&](const std::array<std::size_t, 3>& size) {
            return launch.dimensions == 1   ? cl::NDRange(size[0])
                   : launch.dimensions == 2 ? cl::NDRange(size[0], size[1])
                                            : cl::NDRange(size[0], size[1], size[2]);
        };
        std::vector<cl::Event> wait;
        if (gate && events.empty()) wait.push_back(*gate);
        for (const auto earlier : step.after)
            if (of_step.at(earlier)()) wait.push_back(of_step[earlier]);
        if (step.second_queue && !last_of_second() && wait.empty())
            throw Error("a plan's first step of the second queue waits for none of the first");
        const auto& queue = step.second_queue ? session_->second_queue() : session_->queue();
        const auto* const waiting = wait.empty() ? nullptr : &wait;
        cl::Event event;
        if (step.command) event = checked([&] { return step.command(queue, waiting); });
        else
            checked([&] {
                return queue.enqueueNDRangeKernel(step.kernel, cl::NullRange, range(launch.global), range(launch.local),
                                                  waiting, &event);
            });
        events.push_back(event);
        if (two_queues_) of_step[i] = event;
        if (step.second_queue) last_of_second = event;
    }
    if (!last_of_second()) return;
    // What follows in the first queue, of this plan or of others, comes after the second one's steps.
    const std::vector<cl::Event> wait = {last_of_second};
    checked([&] { return session_->queue().enqueueBarrierWithWaitList(&wait); });
}

// An event that another queue waits for must have been flushed.
void Prepared::flush() const {
    checked([&] { return session_->queue().flush(); });
    if (two_queues_) checked([&] { return session_->second_queue().flush(); });
}

void Prepared::finish() const {
    if (two_queues_) flush();
    checked([&] { return session_->queue().finish(); });
    if (two_queues_) checked([&] { return session_->second_queue().finish(); });
}

void Prepared::settle() const noexcept {
    try {
        if (two_queues_) flush();
    } catch (...) {  // what is left is waited for all the same
    }
    for (const auto* queue : {&session_->queue(), two_queues_ ? &session_->second_queue() : nullptr}) try {
            if (queue) queue->finish();
        } catch (...) {  // what made it necessary is thrown already
        }
}

Span Prepared::run_group(std::size_t runs) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<cl::Event> events;
    if (runs == 1) {
        try {
            enqueue(events, nullptr);
        } catch (...) {  // a step that was enqueued before must not outlive the buffers it works on
            settle();
            throw;
        }
    } else {
        cl::UserEvent gate = checked([&] { return cl::UserEvent(session_->context()); });
        try {
            for (std::size_t i = 0; i < runs; ++i) enqueue(events, &gate);
        } catch (...) {
            gate.setStatus(-1);  // an unset gate would leave the queue blocked for good
            settle();
            throw;
        }
        checked([&] { return gate.setStatus(CL_COMPLETE); });
    }
    finish();
    const std::chrono::duration<double, std::milli> wall_ms = std::chrono::steady_clock::now() - start;
    return span_of(events, wall_ms.count());
}

void Prepared::run() {
    {
        const auto lock = session_->lock_runs();
        run_group(1);
    }
    if (validate) validate();  // reads buffers, which take the lock themselves
}

void Prepared::start() {
    const auto lock = session_->lock_runs();
    if (session_->device().type == DeviceType::cpu) {
        run_group(1);
        return;
    }
    std::vector<cl::Event> events;
    try {
        enqueue(events, nullptr);
    } catch (...) {
        settle();
        throw;
    }
    flush();
}

Samples Prepared::sample(std::size_t count, std::size_t batch) {
    Samples samples;
    const auto most_runs = runs_behind_a_gate();
    const auto lock = session_->lock_runs();
    for (std::size_t i = 0; i < count; ++i) {
        Span whole;
        for (std::size_t left = batch, runs; left > 0; left -= runs) {
            runs = std::min(left, most_runs);
            const auto span = run_group(runs);
            if (left == batch) whole.queued_ms = span.queued_ms;
            whole.device_ms += span.device_ms;
            whole.busy_ms += span.busy_ms;
            whole.wall_ms += span.wall_ms;
        }
        add_sample(samples, whole, batch);
    }
    return samples;
}

}  // namespace gpuopt
