// A device buffer that gives its memory back, or borrows the caller's; optionally between two guard zones that show
// writes out of bounds.
#pragma once

#include <memory>
#include <string>

#include "runtime/large_pages.hpp"
#include "runtime/session.hpp"

namespace gpuopt {

class Buffer {
public:
    // `what` names the argument in a memory error. `guarded` adds a zone of a known pattern on either side.
    Buffer(std::shared_ptr<Session> session, std::size_t bytes, const std::string& what, bool guarded = false);
    // The caller's memory itself, for the length of a call, where host and device share theirs; `settle` before the
    // caller reads what kernels wrote.
    static std::unique_ptr<Buffer> borrowed(std::shared_ptr<Session> session, void* memory, std::size_t bytes);
    static std::unique_ptr<Buffer> borrowed(std::shared_ptr<Session> session, const void* memory, std::size_t bytes);
    ~Buffer() { session_->release(reserved_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    const cl::Buffer& handle() const { return handle_; }
    std::size_t bytes() const { return bytes_; }
    const std::shared_ptr<Session>& session() const { return session_; }

    void upload(const void* host) { upload(host, 0, bytes_); }
    void upload(const void* host, std::size_t at, std::size_t bytes);
    void download(void* host) const;
    void settle() const;  // a borrowed buffer's memory holds what the kernels wrote
    void fill(unsigned char byte);
    bool guarded() const { return guard_bytes_ > 0; }
    bool guards_intact() const;

private:
    Buffer(std::shared_ptr<Session> session, void* memory, std::size_t bytes, cl_mem_flags access);

    std::shared_ptr<Session> session_;
    std::size_t bytes_, reserved_ = 0, guard_bytes_ = 0;
    LargePages memory_;          // of a big buffer of a CPU device; outlives the handles
    cl::Buffer whole_, handle_;  // the same unless guarded
};

}  // namespace gpuopt
