// Copies between the caller's memory and a device that go on beside kernels, of a few buffers that take turns.
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
    // Reads `from`, once what `used` told of it has ended.
    void download(const Buffer& from, void* host);
    // What has been enqueued so far works on this buffer.
    void used(const Buffer& buffer) { busy_[&buffer] = session_->mark(); }
    const std::shared_ptr<Session>& session() const { return session_; }

private:
    void wait_for(const Buffer& buffer);

    std::shared_ptr<Session> session_;
    std::map<const Buffer*, cl::Event> busy_;
};

}  // namespace gpuopt
