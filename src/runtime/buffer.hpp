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
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    const cl::Buffer& handle() const { return handle_; }
    // A part of an unguarded buffer, as a kernel's argument; it must begin at a multiple of the device's
    // base_align_bytes.
    cl::Buffer part(std::size_t first, std::size_t bytes) const;
    std::size_t bytes() const { return bytes_; }
    const std::shared_ptr<Session>& session() const { return session_; }

    void upload(const void* host) { upload(host, 0, bytes_); }
    void upload(const void* host, std::size_t at, std::size_t bytes);
    void download(void* host) const;
    // Rows of the caller's, `pitch` bytes from each to the next (0 and below too), that lie here one after the other,
    // the first of them as the row of number `first`. Rows to download to must not overlap.
    void upload_rows(const void* host, std::ptrdiff_t pitch, std::size_t row_bytes, std::size_t rows,
                     std::size_t first);
    void download_rows(void* host, std::ptrdiff_t pitch, std::size_t row_bytes, std::size_t rows,
                       std::size_t first) const;
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
