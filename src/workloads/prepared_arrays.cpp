// A plan for the caller's other arrays, and one that goes on as another.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <tuple>
#include <utility>

#include "runtime/fills.hpp"
#include "workloads/prepared.hpp"

namespace gpuopt {

void Prepared::rebind(std::size_t step, cl_uint argument, const std::shared_ptr<Memory>& memory) {
    const auto found = std::lower_bound(
        bound_.begin(), bound_.end(), std::pair(step, argument),
        [](const Bound& bound, const auto& place) { return std::pair(bound.step, bound.argument) < place; });
    if (found == bound_.end() || found->step != step || found->argument != argument)
        throw Error("argument " + std::to_string(argument) + " of a plan's step is no memory");
    *found = {step, argument, memory};
    bound_at_ = 0;
}

void Prepared::keep_arrays(std::vector<std::shared_ptr<Buffer>> arrays) {
    arrays_ = std::move(arrays);
    const auto number_of = [&](const Memory* memory) {
        for (std::size_t i = 0; memory && i < arrays_.size(); ++i)
            if (arrays_[i].get() == memory) return static_cast<int>(i);
        return -1;
    };
    for (auto& bound : bound_) bound.array = number_of(bound.memory.lock().get());
    source_array_ = number_of(source.get());
}

bool Prepared::takes_other_arrays() const {
    const auto apart = [&](const std::weak_ptr<Memory>& held) {
        const auto memory = held.lock();
        const auto storage = memory ? memory->storage() : nullptr;
        return storage && std::none_of(arrays_.begin(), arrays_.end(), [&](const auto& array) {
                   return static_cast<const Storage*>(array.get()) == storage.get();
               });
    };
    return !arrays_.empty() && !asks_ && !two_queues_ && !has_samplers_ &&
           std::all_of(others_.begin(), others_.end(), apart) &&
           std::all_of(bound_.begin(), bound_.end(),
                       [&](const Bound& bound) { return bound.array >= 0 || apart(bound.memory); });
}

void Prepared::give_arrays(std::vector<std::shared_ptr<Buffer>> arrays) {
    if (arrays.size() != arrays_.size()) throw Error("a plan is given another number of arrays than it was made for");
    arrays_ = std::move(arrays);
    for (auto& bound : bound_) {
        if (bound.array < 0) continue;
        bound.memory = arrays_[static_cast<std::size_t>(bound.array)];
        bound.version = 0;
    }
    if (source_array_ >= 0) source = arrays_[static_cast<std::size_t>(source_array_)];
    bound_at_ = 0;
}

void Prepared::fill_scratch(unsigned char byte) const {
    for (const auto& buffer : scratch) enqueue_fill(queue(), buffer->handle(), byte, buffer->bytes());
    finish();
}

void Prepared::poison() const {
    constexpr unsigned char byte = 0xFF;
    if (contents) enqueue_fill(queue(), contents->handle(), byte, contents->bytes());
    fill_scratch(byte);
}

void Prepared::let_arrays_go() {
    for (auto& array : arrays_) array = nullptr;
    if (source_array_ >= 0) source = nullptr;
}

void Prepared::otherwise(Prepared other) {
    if (!fits) throw Error("a plan whose runs always leave a result needs no other");
    const auto first = steps_.size() + 1;
    const auto fell = std::make_shared<std::atomic<bool>>(false);
    add(
        [fits = std::exchange(fits, nullptr), fell](const cl::CommandQueue& queue) {
            const bool fitted = fits(queue);
            *fell = !fitted;
            return fitted;
        },
        first + other.steps_.size(), {});
    for (auto& step : other.steps_) {
        for (auto& earlier : step.after) earlier += first;
        step.past += first;
        steps_.push_back(std::move(step));
    }
    for (auto& bound : other.bound_) {
        bound.step += first;
        bound_.push_back(std::move(bound));
    }
    for (auto& value : other.values_) {
        value.step += first;
        values_.push_back(std::move(value));
    }
    const auto append = [](auto& to, auto& from) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(kept_, other.kept_);
    append(others_, other.others_);
    append(scratch, other.scratch);
    scratch_bytes += other.scratch_bytes;
    has_samplers_ |= other.has_samplers_;
    two_queues_ |= other.two_queues_;
    bound_at_ = 0;
    validate = [fell, theirs = std::move(other.validate)] {
        if (*fell && theirs) theirs();
    };
}

}  // namespace gpuopt
