// A built, bound, ordered plan of kernels: run it, or take samples of it. Several plans can be sampled in turn.
#pragma once

#include <any>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/launch.hpp"
#include "runtime/recording.hpp"
#include "runtime/session.hpp"
#include "runtime/timing.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

using Command = std::function<cl::Event(const cl::CommandQueue&, const std::vector<cl::Event>* wait)>;
// Asked on the host, which waits for the steps before it: whether the steps up to another are left out.
using Question = std::function<bool(const cl::CommandQueue&)>;

// One kernel of a plan, or another command. Steps of a queue run in order; those of the session's second queue wait for
// steps of the first as `after` says, and the other way round.
struct Step {
    cl::Kernel kernel;
    Command command;    // set where there is no kernel
    Question question;  // the same; it is no command of the device
    Launch launch;
    std::shared_ptr<const Program> program;
    std::string entry_point;
    bool second_queue = false;
    std::vector<std::size_t> after{};  // earlier steps, of the other queue
    std::size_t past = 0;              // where a question that is answered with yes goes on
};

class Prepared {
public:
    explicit Prepared(std::shared_ptr<Session> session) : session_(std::move(session)) {}

    // `uses` are the memory that the command works on.
    void add(const std::string& name, Command command, std::vector<std::shared_ptr<Memory>> uses = {});
    // A yes leads to the step of number `past`, a later one, or to the end. Such a plan is not queued behind a gate,
    // and gives all events.
    void add(Question question, std::size_t past, std::vector<std::shared_ptr<Memory>> uses);
    // Adds a kernel; arguments follow with `arg`, in order. Steps without work-items are left out when the plan runs.
    void add(std::shared_ptr<const Program> program, const std::string& entry_point, const Launch& launch);

    template <class Value>
    Prepared& arg(const Value& value) {
        static_assert(!std::is_base_of_v<cl::Memory, Value>, "memory may move: give the Memory that holds it");
        static_assert(std::is_trivially_copyable_v<Value>, "a kernel gets an argument's bytes");
        return arg(&value, sizeof value);
    }
    Prepared& arg(const cl::LocalSpaceArg& local);
    Prepared& arg(const cl::Sampler& sampler);
    Prepared& arg(const Scalar& value);
    Prepared& arg(const std::vector<unsigned char>& value);  // the bytes of a number or a struct
    // Memory is set before a run, and again after it was moved. The plan does not keep it alive.
    template <class Kind>
    Prepared& arg(const std::shared_ptr<Kind>& memory) {
        bound_.push_back({steps_.size() - 1, next_argument_, memory});
        bound_at_ = 0;
        ++next_argument_;
        return *this;
    }
    cl_uint next_argument() const { return next_argument_; }

    // Puts the step that was added last into the session's second queue. A plan's first step there must wait for one of
    // the first queue: that is how it comes after everything that was enqueued before.
    void in_second_queue();
    // Lets the step that was added last wait for earlier ones of the other queue.
    void wait_for(std::vector<std::size_t> steps);

    // Gives an argument of a step other memory, between runs.
    void rebind(std::size_t step, cl_uint argument, const std::shared_ptr<Memory>& memory);

    // Keeps what the kernels point to alive for as long as the plan.
    void keep(std::any owner) { kept_.push_back(std::move(owner)); }
    // The same of the caller's arrays, in an order of the workload's own; a null pointer stands for none.
    void keep_arrays(std::vector<std::shared_ptr<Buffer>> arrays);
    // Whether other arrays may take their places: no command and no other memory works on them.
    bool takes_other_arrays() const;
    // Gives all arguments that were one of the caller's arrays another one. Those that were one array before must be
    // one again.
    void give_arrays(std::vector<std::shared_ptr<Buffer>> arrays);
    void let_arrays_go();  // until the next ones are given

    void run();
    // Enqueues a run and does not wait for it, but on a CPU device, where waiting costs nothing, and up to the last
    // question of a plan that asks. What it works on lives until somebody waits; `validate` is not called.
    void start();
    // `count` samples of `batch` runs each. The runs stand behind a gate, so that short kernels queue back to back; no
    // more of them than make 1024 commands, since a driver's queue may be bounded and block. A batch that is longer is
    // made of several such groups, and its time is the sum of theirs.
    //
    // With `period`, a group has one run more, which is not counted: times are from its end to the end of the last run,
    // so that each counted run has the gap before it inside, however many there are.
    //
    // On GPUs the gate is a kernel that takes time (`Spin`), before single runs of several commands too, else an event
    // of ours.
    //
    // Events are asked for of the first and the last command of a run that is timed, and of the last command of what
    // follows it: one for every command makes each wait (H200, driver 580: 11.3 us from one short kernel to the next
    // instead of 4.1). What the commands of a longer plan take by themselves is from one run more, before the samples,
    // whenever the plan is new or has moved.
    //
    // Signals are looked at between groups, and in waits for long ones. A group is of some seconds at most, or of one
    // run: an interrupted call leaves no more on the device.
    Samples sample(std::size_t count, std::size_t batch, bool period = false);

    // Moves all memory of the plan to another place, contents and guard zones included; other plans and arrays that
    // share it see it there. `pad_bytes` are taken meanwhile, so that another amount leads to another place. False
    // where memory is the caller's own or does not fit twice: then nothing has changed.
    bool relocate(std::size_t pad_bytes);

    const std::vector<Step>& steps() const { return steps_; }
    const std::shared_ptr<Session>& session() const { return session_; }

    // Throws where what a run left is no result. `run` calls it, a sample does not.
    std::function<void()> validate;
    // The same as an answer, under the lock of runs, once the steps have ended. Set where `validate` may throw.
    Question fits;
    // Lets the steps of another plan for the same arrays follow, in runs that leave no result by `fits`.
    void otherwise(Prepared other);
    Work work;
    std::size_t main_step = 0;  // the step that carries the variant; others are pre- and post-passes
    // What most of the reading is from. How fast memory is depends on where it lies: on a virtual machine, reads of two
    // buffers of 690 MB differed by 25 %, each time the same way (2026-11).
    std::shared_ptr<Buffer> source;
    // Memory that is written before it is read in every run (zeros around a padded x once); what it and other memory of
    // the plan's own take.
    std::vector<std::shared_ptr<Buffer>> scratch;
    std::shared_ptr<Buffer> contents;  // what a plan that serves several calls is given by each; null: nothing
    std::size_t scratch_bytes = 0;
    void fill_scratch(unsigned char byte) const;  // for tests; under the lock of runs
    void poison() const;                          // all that a later call must write; the same

private:
    using Clock = std::chrono::steady_clock;

    // Memory that an argument was set to, as it was at `version`; 0: never.
    struct Bound {
        std::size_t step;
        cl_uint argument;
        std::weak_ptr<Memory> memory;
        std::uint64_t version = 0;
        int array = -1;  // which of the caller's arrays it is; below 0: none
    };

    // What an argument was set to that is no memory: OpenCL does not tell it again.
    struct Value {
        std::size_t step;
        cl_uint argument;
        std::string bytes;
        std::size_t local_bytes = 0;
    };

    Prepared& arg(const void* bytes, std::size_t count);
    std::size_t runs_behind_a_gate() const;
    void bind();
    enum class Ask { all, ends, last, none };  // of which commands a run gives events
    std::vector<cl::Event> enqueue(Ask ask, const cl::Event* gate = nullptr);
    std::vector<cl::Event> enqueue_steps(Ask ask, const cl::Event* gate, Recording* recording);
    void record(std::size_t step, Recording& recording) const;
    void run_untimed();
    const cl::CommandQueue& queue() const { return timed_ ? session_->timing_queue() : session_->queue(); }
    struct Ends {
        std::vector<cl::Event> first, last;  // of the first run, and of the last one
    };
    Ends enqueue_runs(std::size_t runs, Ask of_first, const cl::Event* gate = nullptr);
    Span timed_to_the_end(const Ends& ends, std::size_t runs, bool period, Clock::time_point start,
                          const Spin* gate = nullptr);
    Span without_gate(std::size_t runs, bool period, Ask of_first);
    Span behind_an_event(std::size_t runs, bool period, Ask of_first);
    std::optional<Span> behind_a_spin(Spin& spin, std::size_t runs, bool period, Ask of_first);
    Span run_group(std::size_t runs, bool period = false, Ask of_first = Ask::all);
    std::size_t commands() const;
    std::vector<std::shared_ptr<Storage>> storages() const;
    bool move(const std::vector<std::shared_ptr<Storage>>& storages, std::size_t pad_bytes) noexcept;
    void flush() const;
    void finish() const;
    void finish(double expected_ms);  // a long wait may be interrupted
    double expected_ms() const;       // of a run
    void settle() noexcept;           // the same after a failure
    void wait_for_answer();

    std::shared_ptr<Session> session_;
    std::vector<Step> steps_;
    std::vector<std::any> kept_;
    std::vector<std::shared_ptr<Buffer>> arrays_;
    int source_array_ = -1;
    bool timed_ = false;        // commands go to the queue of what is timed
    std::vector<Bound> bound_;  // by step and argument
    std::vector<Value> values_;
    std::vector<std::weak_ptr<Memory>> others_;  // memory that commands work on
    std::uint64_t bound_at_ = 0;                 // the session's moves when arguments were set; 0: some never were
    cl_uint next_argument_ = 0;
    bool two_queues_ = false, asks_ = false, has_samplers_ = false;
    double busy_ms_ = -1;  // of a longer plan's commands, without what lies between them; below 0: not known
    double run_ms_ = -1;   // of the fastest run; -1: never run
    bool left_ = false;    // a wait that somebody else ends has thrown
};

}  // namespace gpuopt
