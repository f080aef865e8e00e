// Float images, for kernels that read through the texture path.
#pragma once

#include "runtime/buffer.hpp"

namespace gpuopt {

// RGBA float pixels, or of one channel, read and written by kernels. Throws UnsupportedError when the device has no
// images or allows none so large.
class Image2D {
public:
    Image2D(std::shared_ptr<Session> session, std::size_t width, std::size_t height, const std::string& what,
            int channels = 4);
    ~Image2D() { session_->release(reserved_); }
    Image2D(const Image2D&) = delete;
    Image2D& operator=(const Image2D&) = delete;

    const cl::Image2D& handle() const { return handle_; }
    void fill_from(const Buffer& pixels);  // row after row; it holds at least as many bytes

private:
    std::shared_ptr<Session> session_;
    std::size_t width_, height_, reserved_ = 0;
    cl::Image2D handle_;
};

// The RGBA float pixels that a buffer holds, as a one-dimensional image; no copy.
class ImageBuffer {
public:
    ImageBuffer(std::shared_ptr<Buffer> pixels, std::int64_t count);
    const cl::Image1DBuffer& handle() const { return handle_; }

private:
    std::shared_ptr<Buffer> pixels_;
    cl::Image1DBuffer handle_;
};

}  // namespace gpuopt
