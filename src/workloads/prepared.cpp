#include "workloads/prepared.hpp"

#include <chrono>
#include <set>

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

void Prepared::on_queue(std::size_t queue, std::vector<std::size_t> after) {
    steps_.back().queue = queue;
    steps_.back().after = std::move(after);
}

Prepared& Prepared::arg(const Scalar& value) {
    checked([&] { return steps_.back().kernel.setArg(next_argument_, value.size, value.bytes); });
    ++next_argument_;
    return *this;
}

void Prepared::enqueue(std::vector<cl::Event>& events, const cl::Event* gate) {
    const auto base = events.size();
    std::vector<std::size_t> event_of(steps_.size(), SIZE_MAX);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const auto& step = steps_[i];
        if (step.launch.empty()) continue;
        std::vector<cl::Event> wait;
        if (gate && events.size() == base) wait.push_back(*gate);
        for (const auto earlier : step.after)
            if (event_of[earlier] != SIZE_MAX) wait.push_back(events[event_of[earlier]]);
        const auto& launch = step.launch;
        const auto range = [&](const std::array<std::size_t, 3>& size) {
            return launch.dimensions == 1   ? cl::NDRange(size[0])
                   : launch.dimensions == 2 ? cl::NDRange(size[0], size[1])
                                            : cl::NDRange(size[0], size[1], size[2]);
        };
        cl::Event event;
        checked([&] {
            return session_->queue(step.queue)
                .enqueueNDRangeKernel(step.kernel, cl::NullRange, range(launch.global), range(launch.local),
                                      wait.empty() ? nullptr : &wait, &event);
        });
        event_of[i] = events.size();
        events.push_back(event);
    }
}

std::vector<cl::Event> Prepared::run_once(std::size_t batch) {
    std::vector<cl::Event> events;
    if (batch == 1) {
        enqueue(events, nullptr);
    } else {
        cl::UserEvent gate = checked([&] { return cl::UserEvent(session_->context()); });
        try {
            for (std::size_t i = 0; i < batch; ++i) enqueue(events, i == 0 ? &gate : nullptr);
        } catch (...) {
            gate.setStatus(-1);  // an unset gate would leave the queue blocked for good
            throw;
        }
        checked([&] { return gate.setStatus(CL_COMPLETE); });
    }
    std::set<std::size_t> queues;
    for (const auto& step : steps_) queues.insert(step.queue);
    for (const auto queue : queues) checked([&] { return session_->queue(queue).finish(); });
    return events;
}

void Prepared::run() {
    const std::lock_guard<std::mutex> lock(session_->run_mutex());
    const auto events = run_once(1);
    Samples checked_only;
    add_sample(checked_only, events, 1, 0.0);
}

Samples Prepared::sample(std::size_t count, std::size_t batch) {
    Samples samples;
    const std::lock_guard<std::mutex> lock(session_->run_mutex());
    for (std::size_t i = 0; i < count; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const auto events = run_once(batch);
        const auto wall_ms =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        add_sample(samples, events, batch, wall_ms);
    }
    return samples;
}

}  // namespace gpuopt
