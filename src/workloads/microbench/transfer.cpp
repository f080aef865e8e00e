// Copies between the host and the device, by memory that the driver reads directly or has to copy first.
#include "runtime/large_pages.hpp"
#include "runtime/pinned.hpp"
#include "workloads/microbench/microbench.hpp"

namespace gpuopt {
namespace {

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
