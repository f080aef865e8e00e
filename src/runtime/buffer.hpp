// A device buffer that gives its memory back, or borrows the caller's; optionally between two guard zones that show
// writes out of bounds.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/fence.hpp"
#include "runtime/large_pages.hpp"
#include "runtime/memory.hpp"
#include "runtime/session.hpp"

namespace gpuopt {

// What tells writes out of bounds. `zones`: a known pattern on either side, as wide as a work-group reaches. Where
// `Fences` are open, a CPU's buffers of either kind lie between protected pages, which see writes farther off, and
// reads.
enum class Guard { none, zones };

class Buffer final : public Storage {
public:
    // `what` names the argument in a memory error.
    Buffer(std::shared_ptr<Session> session, std::size_t bytes, const std::string& what, Guard guard = Guard::none);
    // The caller's memory itself, for the length of a call, where host and device share theirs; `settle` before the
    // caller reads what kernels wrote. `owner` keeps the memory; where there is none, an interrupted call waits until
    // nothing uses the memory any more.
    static std::shared_ptr<Buffer> borrowed(std::shared_ptr<Session> session, void* memory, std::size_t bytes,
                                            std::shared_ptr<void> owner = nullptr);
    static std::shared_ptr<Buffer> borrowed(std::shared_ptr<Session> session, const void* memory, std::size_t bytes,
                                            std::shared_ptr<void> owner = nullptr);
    // Memory that another library made in the session's context and shares; `owner` is what it lies in, such as an
    // array on the host or a pool. Throws ArrayError that names `what` for memory of another context or kind, for less
    // of it, and where kernels may not both read and write it.
    static std::shared_ptr<Buffer> adopted(std::shared_ptr<Session> session, cl_mem memory, std::size_t bytes,
                                           const std::string& what, std::shared_ptr<void> owner);
    ~Buffer() override;

    // For another library: from now on nothing else gets this memory, and it stays where it is.
    cl_mem shared();
    // Whether a byte of it is one of the other's, too. Memory that is shared may have several of these objects.
    bool meets(const Buffer& other) const;
    // Whether it meets the other, and they do not begin at the same byte.
    bool is_shifted(const Buffer& other) const;
    const cl::Buffer& handle() const { return place_.handle; }
    // A part of the buffer, as a kernel's argument; it must begin at a multiple of the device's base_align_bytes.
    cl::Buffer part(std::size_t first, std::size_t bytes) const;
    std::size_t bytes() const { return bytes_; }
    const std::shared_ptr<Session>& session() const { return session_; }

    void upload(const void* host) { upload(host, 0, bytes_); }
    void upload(const void* host, std::size_t at, std::size_t bytes);
    void download(void* host) const { download(host, 0, bytes_); }
    void download(void* host, std::size_t at, std::size_t bytes) const;
    // Rows of the caller's, `pitch` bytes from each to the next (0 and below too), that lie here one after the other,
    // the first of them as the row of number `first`. Rows to download to must not overlap. `beside`: kernels go on
    // meanwhile, and copies the other way, and the caller has waited for those that work on this buffer.
    void upload_rows(const void* host, std::ptrdiff_t pitch, std::size_t row_bytes, std::size_t rows, std::size_t first,
                     bool beside = false);
    void download_rows(void* host, std::ptrdiff_t pitch, std::size_t row_bytes, std::size_t rows, std::size_t first,
                       bool beside = false) const;
    // Enqueues a copy to an image of what stands here from byte `first` on. PoCL 3.1 ends the process where an image is
    // filled from a part of a buffer, which a guarded one is: it is told of the whole.
    cl::Event enqueue_to_image(const cl::CommandQueue& queue, const cl::Image& image, std::size_t first,
                               const std::array<cl::size_type, 3>& region,
                               const std::vector<cl::Event>* wait = nullptr) const;
    void settle() const;  // a borrowed buffer's memory holds what the kernels wrote
    void fill(unsigned char byte);
    // The bytes of a pattern, again and again; the host sends one of it.
    void fill(const void* pattern, std::size_t pattern_bytes);
    bool guarded() const { return before_ > 0; }
    bool guards_intact() const;

    const cl::Memory& argument() override { return place_.handle; }
    bool movable() const override { return reserved_ > 0 && !shared_; }  // the caller's memory stays where it is
    bool kept() const override { return reserved_ > 0 || owner_; }
    void make_twin(const cl::CommandQueue& queue, std::vector<cl::Event>& copies) override;
    void drop_twin() noexcept override;

    // Memory that is taken, and written so that a driver gives it, to push what is allocated meanwhile to another
    // place. Made under the session's lock of runs.
    class Pad {
    public:
        Pad(Session& session, std::size_t bytes);
        ~Pad() { session_.release(bytes_); }
        Pad(const Pad&) = delete;
        Pad& operator=(const Pad&) = delete;

    private:
        Session& session_;
        std::size_t bytes_;
        cl::Buffer buffer_;
    };

private:
    struct Place {
        std::shared_ptr<const Fence> fence;  // where there is one
        cl::Buffer whole, handle;            // the same unless guarded
    };
    Buffer(std::shared_ptr<Session> session, void* memory, std::size_t bytes, cl_mem_flags access);
    Buffer(std::shared_ptr<Session> session, cl::Buffer memory, std::size_t bytes);
    bool in_large_pages() const;
    Place allocated(LargePages (*pages)(std::size_t)) const;
    bool pooled() const { return reserved_ > 0 && before_ == 0 && !fenced_ && !shared_ && !in_large_pages(); }
    void make_place();
    void set_guard(Guard guard);
    void write_zones();
    StagingRing* staging(const HostRows& rows, bool down_beside = false) const;
    void upload(const HostRows& rows, std::size_t at, bool beside);
    void download(const HostRows& rows, std::size_t at) const;
    void download_beside(const HostRows& rows, std::size_t at) const;
    const cl::CommandQueue& queue(bool beside) const;  // of copies; what was enqueued before has ended or comes before
    void touched() const;                              // the host writes to it
    std::size_t behind() const { return reserved_ - before_ - bytes_; }  // bytes of the zone behind
    void exchange() noexcept override { std::swap(place_, twin_); }

    std::shared_ptr<Session> session_;
    std::shared_ptr<void> owner_;
    std::size_t bytes_, reserved_ = 0, twin_reserved_ = 0, before_ = 0;  // `before_`: bytes of the zone in front
    bool fenced_ = false;
    std::atomic<bool> shared_ = false;
    unsigned char pattern_ = 0;  // of the zones
    Place place_, twin_;
};

// A part of a buffer, as an argument.
class BufferPart final : public Memory {
public:
    BufferPart(std::shared_ptr<Buffer> whole, std::size_t first, std::size_t bytes);

    const cl::Memory& argument() override;
    std::uint64_t version() const override { return whole_->version(); }
    std::shared_ptr<Storage> storage() override { return whole_; }

private:
    std::shared_ptr<Buffer> whole_;
    std::size_t first_, bytes_;
    std::uint64_t made_of_ = 0;
    cl::Buffer handle_;
};

}  // namespace gpuopt
