// Float images, for kernels that read through the texture path.
#pragma once

#include "runtime/buffer.hpp"

namespace gpuopt {

// Float pixels, RGBA or of one channel, read and written by kernels. Throws UnsupportedError when the device has no
// images or allows none so large.
class Image2D final : public Storage {
public:
    Image2D(std::shared_ptr<Session> session, std::size_t width, std::size_t height, const std::string& what,
            int channels = 4);
    ~Image2D() override { session_->release(reserved_); }

    void fill_from(const Buffer& pixels);  // row after row; it holds at least as many bytes

    const cl::Memory& argument() override { return handle_; }
    void make_twin(const cl::CommandQueue& queue, std::vector<cl::Event>& copies) override;
    void drop_twin() noexcept override;

private:
    cl::Image2D allocated() const;
    void exchange() noexcept override { std::swap(handle_, twin_); }

    std::shared_ptr<Session> session_;
    std::size_t width_, height_, reserved_ = 0, twin_reserved_ = 0;
    int channels_;
    cl::Image2D handle_, twin_;
};

// Layers of one float channel, of one size, between which nothing is interpolated: an array of images, or where the
// device's arrays are slower, the planes of one image. Throws as Image2D.
class ImageStack final : public Storage {
public:
    enum class Kind { array, planes };
    ImageStack(std::shared_ptr<Session> session, Kind kind, std::size_t width, std::size_t height, std::size_t layers,
               const std::string& what);
    ~ImageStack() override { session_->release(reserved_); }

    static std::size_t most_layers(const Device& device, Kind kind);
    // Enqueues a copy of `layers` layers that lie one after the other from `first_byte` of the buffer on.
    cl::Event enqueue_copy(const cl::CommandQueue& queue, const Buffer& from, std::size_t first_byte,
                           std::size_t layers, const std::vector<cl::Event>* wait) const;

    const cl::Memory& argument() override { return handle_; }
    void make_twin(const cl::CommandQueue& queue, std::vector<cl::Event>& copies) override;
    void drop_twin() noexcept override;

private:
    cl::Image3D allocated() const;
    void exchange() noexcept override { std::swap(handle_, twin_); }

    std::shared_ptr<Session> session_;
    Kind kind_;
    std::size_t width_, height_, layers_, reserved_ = 0, twin_reserved_ = 0;
    cl::Image3D handle_, twin_;  // of either kind: cl::Image itself cannot be held
};

// The RGBA float pixels that a buffer holds, as a one-dimensional image; no copy.
class ImageBuffer final : public Memory {
public:
    ImageBuffer(std::shared_ptr<Buffer> pixels, std::int64_t count);

    const cl::Memory& argument() override;
    std::uint64_t version() const override { return pixels_->version(); }
    std::shared_ptr<Storage> storage() override { return pixels_; }

private:
    std::shared_ptr<Buffer> pixels_;
    std::size_t count_;
    std::uint64_t made_of_ = 0;
    cl::Image1DBuffer handle_;
};

}  // namespace gpuopt
