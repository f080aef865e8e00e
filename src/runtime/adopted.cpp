// Memory that another library of this process made.
#include <utility>

#include "runtime/buffer.hpp"

namespace gpuopt {

Buffer::Buffer(std::shared_ptr<Session> session, cl::Buffer memory, std::size_t bytes)
    : session_(std::move(session)), bytes_(bytes) {
    place_.whole = place_.handle = std::move(memory);
}

std::shared_ptr<Buffer> Buffer::adopted(std::shared_ptr<Session> session, cl_mem memory, std::size_t bytes,
                                        const std::string& what, std::shared_ptr<void> owner) {
    cl::Buffer held(memory, true);
    cl_mem_object_type type = 0;
    cl_mem_flags flags = 0;
    std::size_t size = 0;
    cl::Context context;
    checked([&] { return held.getInfo(CL_MEM_TYPE, &type); });
    checked([&] { return held.getInfo(CL_MEM_CONTEXT, &context); });
    checked([&] { return held.getInfo(CL_MEM_SIZE, &size); });
    checked([&] { return held.getInfo(CL_MEM_FLAGS, &flags); });
    if (type != CL_MEM_OBJECT_BUFFER) throw ArrayError(what, "its memory is no buffer", "give an array in a buffer");
    if (context() != session->context()())
        throw ArrayError(what, "its memory is of another context",
                         "make it in a queue of gpuopt.pyopencl_queue(), or copy it through the host");
    if (size < bytes)
        throw ArrayError(what, "its memory has " + std::to_string(size) + " bytes",
                         "give one of at least " + std::to_string(bytes));
    if (flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))
        throw ArrayError(what, "kernels may not both read and write its memory", "make it with READ_WRITE");
    if (flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY))
        throw ArrayError(what, "the host may not both read and write its memory", "make it with READ_WRITE alone");
    auto made = std::shared_ptr<Buffer>(new Buffer(std::move(session), std::move(held), bytes));
    made->owner_ = std::move(owner);
    made->shared_ = true;
    return made;
}

cl_mem Buffer::shared() {
    const auto lock = session_->lock_runs();  // which memory is moved under
    shared_ = true;
    return place_.handle();
}

namespace {

struct Range {
    cl_mem whole = nullptr;
    std::size_t first = 0;
};

Range range_of(const cl::Buffer& handle) {
    cl::Memory parent;
    Range range{handle(), 0};
    checked([&] { return handle.getInfo(CL_MEM_ASSOCIATED_MEMOBJECT, &parent); });
    if (parent()) {
        checked([&] { return handle.getInfo(CL_MEM_OFFSET, &range.first); });
        range.whole = parent();
    }
    return range;
}

}  // namespace

bool Buffer::meets(const Buffer& other) const {
    if (this == &other) return true;
    if (!shared_ && !other.shared_) return false;
    const auto one = range_of(place_.handle), another = range_of(other.place_.handle);
    return one.whole == another.whole && one.first < another.first + other.bytes_ && another.first < one.first + bytes_;
}

bool Buffer::is_shifted(const Buffer& other) const {
    return meets(other) && range_of(place_.handle).first != range_of(other.place_.handle).first;
}

}  // namespace gpuopt
