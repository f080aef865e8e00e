#include "runtime/pinned.hpp"

#include <map>
#include <utility>

#include "runtime/fork.hpp"

namespace gpuopt {
namespace {

struct Known {
    ForkSafeMutex mutex;
    std::map<std::uintptr_t, std::pair<std::size_t, const Session*>> ranges;  // by where they begin
};

Known& known() {
    static auto* const made = new Known;  // arrays may outlive everything else
    return *made;
}

std::uintptr_t address(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

}  // namespace

Pinned::Pinned(std::shared_ptr<Session> session, std::size_t bytes) : session_(std::move(session)), bytes_(bytes) {
    const auto lock = session_->lock_runs();
    session_->catch_up();
    checked([&] {
        buffer_ = cl::Buffer(session_->context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes);
        data_ = session_->queue().enqueueMapBuffer(buffer_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes);
        return 0;
    });
    const std::lock_guard<ForkSafeMutex> listed(known().mutex);
    known().ranges[address(data_)] = {bytes_, session_.get()};
}

Pinned::~Pinned() {
    {
        const std::lock_guard<ForkSafeMutex> listed(known().mutex);
        known().ranges.erase(address(data_));
    }
    try {
        const auto lock = session_->lock_runs(false);
        session_->queue().enqueueUnmapMemObject(buffer_, data_);
        // Without the lock a call of this thread goes on, which waits for what it needs.
        if (lock.owns_lock()) session_->queue().finish();
    } catch (...) {  // a driver that fails here has nothing left to give back
    }
}

bool Pinned::holds(const Session& session, const void* data, std::size_t bytes) {
    const std::lock_guard<ForkSafeMutex> listed(known().mutex);
    auto found = known().ranges.upper_bound(address(data));
    if (found == known().ranges.begin()) return false;
    --found;
    const auto& [length, owner] = found->second;
    return owner == &session && address(data) - found->first + bytes <= length;
}

}  // namespace gpuopt
