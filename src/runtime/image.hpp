// Float images, for kernels that read through the texture path.
#pragma once

#include "runtime/buffer.hpp"

namespace gpuopt {

// Float pixels, RGBA or of one channel, read and written by kernels. Throws UnsupportedError when the device has no
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

// Layers of one float channel, of one size, between which nothing is interpolated: an array of images, or where the
// device's arrays are slower, the planes of one image. Throws as Image2D.
class ImageStack {
public:
    enum class Kind { array, planes };
    ImageStack(std::shared_ptr<Session> session, Kind kind, std::size_t width, std::size_t height, std::size_t layers,
               const std::string& what);
    ~ImageStack() { session_->release(reserved_); }
    ImageStack(const ImageStack&) = delete;
    ImageStack& operator=(const ImageStack&) = delete;

    static std::size_t most_layers(const Device& device, Kind kind);
    const cl::Image& handle() const;
    // Enqueues a copy of `layers` layers that lie one after the other from `first_byte` of the buffer on.
    cl::Event enqueue_copy(const cl::CommandQueue& queue, const Buffer& from, std::size_t first_byte,
                           std::size_t layers, const std::vector<cl::Event>* wait) const;

private:
    std::shared_ptr<Session> session_;
    Kind kind_;
    std::size_t width_, height_, reserved_ = 0;
    cl::Image2DArray array_;  // one of the two, by kind
    cl::Image3D planes_;
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
