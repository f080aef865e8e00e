// Copies between the host and the device, by memory that the driver reads directly or has to copy first.
#include "runtime/large_pages.hpp"
#include "workloads/microbench/microbench.hpp"

namespace gpuopt {
namespace {

// Memory of the driver's own, mapped for as long as it lives.
class Pinned {
public:
    Pinned(std::shared_ptr<Session> session, std::size_t bytes) : session_(std::move(session)) {
        const auto lock = session_->lock_runs();
        checked([&] {
            buffer_ = cl::Buffer(session_->context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes);
            data_ = session_->queue().enqueueMapBuffer(buffer_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes);
            return 0;
        });
    }
    ~Pinned() {
        try {
            const auto lock = session_->lock_runs(false);
            session_->queue().enqueueUnmapMemObject(buffer_, data_);
            session_->queue().finish();
        } catch (...) {  // a driver that fails here has nothing left to give back
        }
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

    void* data() const { return data_; }

private:
    std::shared_ptr<Session> session_;
    cl::Buffer buffer_;
    void* data_ = nullptr;
};

std::shared_ptr<void> host_memory(const std::shared_ptr<Session>& session, std::size_t bytes, bool pinned) {
    if (pinned) {
        auto memory = std::make_shared<Pinned>(session, bytes);
        return {memory, memory->data()};
    }
    auto pages = std::make_shared<LargePages>(bytes);
    if (pages->data()) return {pages, pages->data()};
    auto plain = std::make_shared<std::vector<unsigned char>>(bytes);
    return {plain, plain->data()};
}

}  // namespace

Transfer prepare_transfer(const DeviceArray& array, bool upload, bool pinned) {
    const auto bytes = array.buffer->bytes();
    if (bytes == 0) throw ArrayError("array", "it is empty", "give one with elements");
    const auto& session = array.buffer->session();
    Transfer transfer{std::make_shared<Prepared>(session), host_memory(session, bytes, pinned)};
    transfer.plan->add(
        upload ? "upload" : "download",
        [buffer = array.buffer, memory = transfer.memory, bytes, upload](const cl::CommandQueue& queue,
                                                                         const std::vector<cl::Event>* wait) {
            cl::Event event;
            if (upload) queue.enqueueWriteBuffer(buffer->handle(), CL_FALSE, 0, bytes, memory.get(), wait, &event);
            else queue.enqueueReadBuffer(buffer->handle(), CL_FALSE, 0, bytes, memory.get(), wait, &event);
            return event;
        },
        {array.buffer});
    transfer.plan->work.bytes["bus"] = double(bytes);
    return transfer;
}

}  // namespace gpuopt
