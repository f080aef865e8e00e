#include "workloads/kept_plans.hpp"

#include <algorithm>

#include "runtime/fence.hpp"
#include "runtime/kernel_source.hpp"
#include "runtime/recording.hpp"
#include "runtime/trace.hpp"

namespace gpuopt {

PlanKey::PlanKey(const std::string& variant, const Parameters& parameters) : text_(variant) {
    text_.reserve(512);
    for (const auto& [name, level] : parameters) {
        text_ += '\0';
        text_ += name;
        add(level);
    }
}

PlanKey& PlanKey::add(const std::vector<std::shared_ptr<Buffer>>& arrays) {
    for (const auto& array : arrays)
        text_ +=
            array ? static_cast<char>('0' + (std::find(arrays.begin(), arrays.end(), array) - arrays.begin())) : '-';
    return *this;
}

void run_kept(Session& session, Kept& kept, const PlanKey& key, const std::vector<std::shared_ptr<Buffer>>& arrays,
              const std::function<std::shared_ptr<Prepared>()>& make, bool wait,
              const std::function<void(Prepared&)>& fill) {
    session.require_own_process();
    const bool keeps = !kernels_may_change() && !Recording::now() && !Fences::now();
    auto plan = keeps ? std::static_pointer_cast<Prepared>(kept.take(key.text())) : nullptr;
    const bool reused = static_cast<bool>(plan);
    bool again = true;
    if (reused) {
        ++session.counts.plans_reused;
        plan->give_arrays(arrays);
    } else {
        ++session.counts.plans_made;
        const Traced span("plan");
        plan = make();
        again = keeps && plan->takes_other_arrays();
    }
    const auto drop = [&] {
        plan = nullptr;  // first: its memory goes to the pool
        session.drop_kept();
        kept.clear();
    };
    try {
        if (reused && fill) fill(*plan);
        if (wait) plan->run();
        else plan->start();
    } catch (const OpenCLError&) {
        drop();
        throw;
    } catch (const DeviceMemoryError&) {
        drop();
        throw;
    }
    if (!again) return;
    plan->let_arrays_go();
    kept.give(key.text(), plan, plan->scratch_bytes);
}

}  // namespace gpuopt
