#include "workloads/prepared.hpp"

#include <algorithm>
#include <any>
#include <chrono>
#include <new>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/trace.hpp"

namespace gpuopt {
namespace {

// Sets an argument; where the driver refuses it, the error names kernel and argument.
template <class... Values>
void set(Step& step, cl_uint argument, const Values&... values) {
    try {
        checked([&] { return step.kernel.setArg(argument, values...); });
    } catch (const OpenCLError& error) {
        const auto takes = std::to_string(step.kernel.getInfo<CL_KERNEL_NUM_ARGS>());
        throw OpenCLError(
            error.call, error.code, error.name,
            "argument " + std::to_string(argument) + ", from 0, of " + step.entry_point + ", which takes " + takes);
    }
}

}  // namespace

void Prepared::add(std::shared_ptr<const Program> program, const std::string& entry_point, const Launch& launch) {
    Step step;
    step.kernel = checked([&] { return cl::Kernel(program->handle, entry_point.c_str()); });
    ++session_->counts.kernels_made;
    check_launch(launch, session_->device(), step.kernel);
    step.launch = launch;
    step.program = std::move(program);
    step.entry_point = entry_point;
    steps_.push_back(std::move(step));
    next_argument_ = 0;
}

void Prepared::add(const std::string& name, Command command, std::vector<std::shared_ptr<Memory>> uses) {
    others_.insert(others_.end(), uses.begin(), uses.end());
    Step step;
    step.command = std::move(command);
    step.entry_point = name;
    steps_.push_back(std::move(step));
    next_argument_ = 0;
}

void Prepared::add(Question question, std::size_t past, std::vector<std::shared_ptr<Memory>> uses) {
    if (past <= steps_.size()) throw Error("a plan's question leads to a step before it");
    others_.insert(others_.end(), uses.begin(), uses.end());
    Step step;
    step.question = std::move(question);
    step.entry_point = "ask";
    step.past = past;
    steps_.push_back(std::move(step));
    asks_ = true;
    next_argument_ = 0;
}

Prepared& Prepared::arg(const cl::Sampler& sampler) {
    set(steps_.back(), next_argument_, sampler);
    has_samplers_ = true;
    ++next_argument_;
    return *this;
}

Prepared& Prepared::arg(const Scalar& value) { return arg(value.bytes, value.size); }

Prepared& Prepared::arg(const std::vector<unsigned char>& value) { return arg(value.data(), value.size()); }

Prepared& Prepared::arg(const void* bytes, std::size_t count) {
    set(steps_.back(), next_argument_, count, bytes);
    values_.push_back({steps_.size() - 1, next_argument_, {static_cast<const char*>(bytes), count}});
    ++next_argument_;
    return *this;
}

Prepared& Prepared::arg(const cl::LocalSpaceArg& local) {
    set(steps_.back(), next_argument_, local);
    values_.push_back({steps_.size() - 1, next_argument_, {}, local.size_});
    ++next_argument_;
    return *this;
}

// Arguments whose memory is gone stay as they are: such a plan has been started, and is not run again.
void Prepared::bind() {
    const auto moves = session_->moves();
    for (auto& bound : bound_) {
        const auto memory = bound.memory.lock();
        if (!memory || memory->version() == bound.version) continue;
        const cl_mem handle = memory->argument()();
        set(steps_[bound.step], bound.argument, sizeof handle, &handle);
        bound.version = memory->version();
    }
    bound_at_ = moves;
}

void Prepared::in_second_queue() {
    session_->second_queue();
    steps_.back().second_queue = two_queues_ = true;
}

void Prepared::wait_for(std::vector<std::size_t> steps) { steps_.back().after = std::move(steps); }

std::size_t Prepared::commands() const {
    return static_cast<std::size_t>(std::count_if(
        steps_.begin(), steps_.end(), [](const Step& step) { return !step.launch.empty() && !step.question; }));
}

std::vector<cl::Event> Prepared::enqueue(Ask ask, const cl::Event* gate) {
    auto* const recording = Recording::now();
    if (!recording) return enqueue_steps(ask, gate, nullptr);
    try {
        auto events = enqueue_steps(ask, gate, recording);
        finish();
        recording->end_run();
        return events;
    } catch (...) {
        recording->fail(std::current_exception());
        throw;
    }
}

void Prepared::record(std::size_t number, Recording& recording) const {
    const auto& step = steps_[number];
    if (has_samplers_)
        throw ParameterError("call", "it gives a kernel a sampler as an argument, which is not recorded",
                             "write the sampler in the kernel's source");
    finish();
    if (step.command) {
        for (const auto& other : others_)
            if (const auto memory = other.lock()) recording.touch(*memory->storage());
        return;
    }
    std::vector<Recording::Argument> arguments(checked([&] { return step.kernel.getInfo<CL_KERNEL_NUM_ARGS>(); }));
    for (const auto& bound : bound_)
        if (bound.step == number) arguments.at(bound.argument).memory = bound.memory.lock();
    for (const auto& value : values_)
        if (value.step == number) arguments.at(value.argument) = {nullptr, value.bytes, value.local_bytes};
    recording.launch(session_, step.program, step.entry_point, step.launch, arguments);
}

// Two queues wait for each other's events, and what a question leaves out is not known before: such plans give all.
std::vector<cl::Event> Prepared::enqueue_steps(Ask ask, const cl::Event* gate, Recording* recording) {
    if (bound_at_ != session_->moves()) bind();
    std::vector<cl::Event> events, of_step(two_queues_ ? steps_.size() : 0);
    const auto every = commands();
    std::size_t number = 0;
    cl::Event last_of_second;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const auto& step = steps_[i];
        const auto& launch = step.launch;
        if (launch.empty()) continue;
        if (step.question) {
            look_now_and_then();
            wait_for_answer();
            if (step.question(queue())) i = step.past - 1;
            continue;
        }
        const auto range = [&](const std::array<std::size_t, 3>& size) {
            return launch.dimensions == 1   ? cl::NDRange(size[0])
                   : launch.dimensions == 2 ? cl::NDRange(size[0], size[1])
                                            : cl::NDRange(size[0], size[1], size[2]);
        };
        std::vector<cl::Event> wait;
        if (gate) wait.push_back(*std::exchange(gate, nullptr));
        for (const auto earlier : step.after)
            if (of_step.at(earlier)()) wait.push_back(of_step[earlier]);
        if (recording) record(i, *recording);
        if (step.second_queue && !last_of_second() && wait.empty())
            throw Error("a plan's first step of the second queue waits for none of the first");
        const auto& queue = step.second_queue ? session_->second_queue() : this->queue();
        const auto* const waiting = wait.empty() ? nullptr : &wait;
        const bool is_first = number == 0, is_last = ++number == every;
        const bool asked = two_queues_ || asks_ || ask == Ask::all || (is_first && ask == Ask::ends) ||
                           (is_last && (ask == Ask::ends || ask == Ask::last));
        cl::Event event;
        if (step.command) event = checked([&] { return step.command(queue, waiting); });
        else
            checked([&] {
                return queue.enqueueNDRangeKernel(step.kernel, cl::NullRange, range(launch.global), range(launch.local),
                                                  waiting, asked ? &event : nullptr);
            });
        if (asked) events.push_back(event);
        if (two_queues_) of_step[i] = event;
        if (step.second_queue) last_of_second = event;
    }
    if (!last_of_second()) return events;
    // What follows in the first queue, of this plan or of others, comes after the second one's steps.
    const std::vector<cl::Event> wait = {last_of_second};
    checked([&] { return queue().enqueueBarrierWithWaitList(&wait); });
    return events;
}

// An event that another queue waits for must have been flushed.
void Prepared::flush() const {
    checked([&] { return queue().flush(); });
    if (two_queues_) checked([&] { return session_->second_queue().flush(); });
}

void Prepared::finish() const {
    if (two_queues_) flush();
    checked([&] { return queue().finish(); });
    if (two_queues_) checked([&] { return session_->second_queue().finish(); });
}

// Where nothing is known yet, what a slow device of its kind would take: kernels known to be short are not waited for
// in another thread.
double Prepared::expected_ms() const {
    if (run_ms_ >= 0) return run_ms_;
    const double faster = session_->device().type == DeviceType::cpu ? 1 : 250;
    double seconds = work.flops / 4e9;
    for (const auto& [memory, bytes] : work.bytes) seconds = std::max(seconds, bytes / 4e9);
    for (const auto& [function, results] : work.special) seconds += results / 1e8;
    return seconds * 1e3 / faster;
}

// What an interrupted run leaves on the device needs all of its memory to the end; memory that a caller lent is gone
// with the call, so then the end is waited for.
void Prepared::finish(double expected_ms) {
    if (expected_ms <= long_wait_ms) return finish();
    std::any all_of_it;
    try {
        auto all = storages();
        const auto kept = [](const std::shared_ptr<Storage>& storage) { return storage && storage->kept(); };
        if (!std::all_of(all.begin(), all.end(), kept)) return finish();
        all_of_it = std::make_tuple(std::move(all), kept_, arrays_, steps_);
        session_->finish_interruptibly(std::move(all_of_it));
    } catch (const std::bad_alloc&) {  // what cannot be kept is waited for
        finish();
    }
}

// An answer's own wait ends for no signal: a long one comes before it.
void Prepared::wait_for_answer() {
    const auto ms = expected_ms();
    if (ms <= long_wait_ms) return;
    left_ = true;  // what a signal leaves on the device, its own thread waits for
    finish(ms);
    left_ = false;
}

void Prepared::settle() noexcept {
    if (std::exchange(left_, false)) return;
    try {
        if (two_queues_) flush();
    } catch (...) {  // what is left is waited for all the same
    }
    for (const auto* queue : {&this->queue(), two_queues_ ? &session_->second_queue() : nullptr}) try {
            if (queue) queue->finish();
        } catch (...) {  // what made it necessary is thrown already
        }
}

// Without times. Of a GPU's commands the last one's event alone: each one more makes the next kernel wait (H200).
void Prepared::run_untimed() {
    const Traced span("kernels");
    const auto start = Clock::now();
    std::vector<cl::Event> events;
    try {
        events = enqueue(session_->device().type == DeviceType::cpu ? Ask::all : Ask::last);
    } catch (...) {  // a step that was enqueued before must not outlive the buffers it works on
        settle();
        throw;
    }
    finish(expected_ms());
    require_success(events);
    const std::chrono::duration<double, std::milli> wall_ms = Clock::now() - start;
    run_ms_ = run_ms_ < 0 ? wall_ms.count() : std::min(run_ms_, wall_ms.count());
}

void Prepared::run() {
    {
        const auto lock = session_->lock_runs();
        session_->catch_up();
        run_untimed();
    }
    if (validate) validate();  // reads buffers, which take the lock themselves
}

void Prepared::start() {
    const auto lock = session_->lock_runs();
    if (session_->device().type == DeviceType::cpu) {
        run_untimed();
        return;
    }
    try {
        enqueue(Ask::none);
    } catch (...) {
        settle();
        throw;
    }
    flush();
    session_->fall_behind(expected_ms());
}

// All storage that arguments and commands use, each once; a null pointer stands for what is gone.
std::vector<std::shared_ptr<Storage>> Prepared::storages() const {
    std::vector<std::shared_ptr<Storage>> found;
    std::set<const Storage*> seen;
    const auto add = [&](const std::weak_ptr<Memory>& held) {
        const auto memory = held.lock();
        auto storage = memory ? memory->storage() : nullptr;
        if (seen.insert(storage.get()).second) found.push_back(std::move(storage));
    };
    for (const auto& bound : bound_) add(bound.memory);
    for (const auto& other : others_) add(other);
    return found;
}

bool Prepared::relocate(std::size_t pad_bytes) {
    const auto lock = session_->lock_runs();
    session_->catch_up();
    busy_ms_ = -1;
    const auto all = storages();
    const auto movable = [](const std::shared_ptr<Storage>& storage) { return storage && storage->movable(); };
    return !all.empty() && std::all_of(all.begin(), all.end(), movable) && move(all, pad_bytes);
}

bool Prepared::move(const std::vector<std::shared_ptr<Storage>>& storages, std::size_t pad_bytes) noexcept {
    const auto swap_all = [&] {
        for (const auto& storage : storages) storage->swap_twin();
        session_->count_move();
    };
    bool moved = false;
    try {
        const Buffer::Pad pad(*session_, pad_bytes);
        std::vector<cl::Event> copies;
        for (const auto& storage : storages) storage->make_twin(session_->queue(), copies);
        checked([&] { return cl::WaitForEvents(copies); });
        finish();
        swap_all();
        moved = true;
        bind();
    } catch (...) {  // too little memory, as a rule: the old place is as good
        settle();
        if (moved) swap_all();
        moved = false;
    }
    for (const auto& storage : storages) storage->drop_twin();
    return moved;
}

}  // namespace gpuopt
