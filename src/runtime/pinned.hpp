// Host memory of the driver's own, which the device reads and writes directly.
#pragma once

#include <memory>

#include "runtime/session.hpp"

namespace gpuopt {

// Mapped for as long as it lives.
class Pinned {
public:
    // Throws DeviceMemoryError or OpenCLError where the driver has none.
    Pinned(std::shared_ptr<Session> session, std::size_t bytes);
    ~Pinned();
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

    void* data() const { return data_; }
    // Whether all of the bytes lie in one such memory of this session.
    static bool holds(const Session& session, const void* data, std::size_t bytes);

private:
    std::shared_ptr<Session> session_;
    std::size_t bytes_;
    cl::Buffer buffer_;
    void* data_ = nullptr;
};

}  // namespace gpuopt
