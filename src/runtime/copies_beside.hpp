// Copies of the caller's memory to a device that go on beside kernels, into a few buffers that take turns.
#pragma once

#include <map>
#include <memory>

#include "runtime/buffer.hpp"
#include "runtime/session.hpp"

namespace gpuopt {

// Of one thread.
class CopiesBeside {
public:
    // Waits for what was enqueued before, for a buffer of the pool may still be worked on: make the buffers first.
    explicit CopiesBeside(std::shared_ptr<Session> session) : session_(std::move(session)) {
        session_->wait_for_queue();
    }
    // Writes `to`, once what `used` told has ended.
    void upload(const void* host, Buffer& to);
    // What has been enqueued so far works on this buffer.
    void used(const Buffer& buffer) { busy_[&buffer] = session_->mark(); }
    const std::shared_ptr<Session>& session() const { return session_; }

private:
    std::shared_ptr<Session> session_;
    std::map<const Buffer*, cl::Event> busy_;
};

}  // namespace gpuopt
