#include "runtime/image.hpp"

#include <array>

#include "runtime/recording.hpp"

namespace gpuopt {
namespace {

void require_images(const Device& device) {
    if (!device.image_support)
        throw UnsupportedError(UnsupportedError::Because::device, device.name + " has no images");
}

void enqueue_image_copy(const cl::CommandQueue& queue, const cl::Image& from, const cl::Image& to,
                        const std::array<std::size_t, 3>& region, std::vector<cl::Event>& copies) {
    checked([&] {
        return queue.enqueueCopyImage(from, to, {0, 0, 0}, {0, 0, 0}, {region[0], region[1], region[2]}, nullptr,
                                      &copies.emplace_back());
    });
}

}  // namespace

Image2D::Image2D(std::shared_ptr<Session> session, std::size_t width, std::size_t height, const std::string& what,
                 int channels)
    : session_(std::move(session)), width_(width), height_(height), channels_(channels) {
    const auto& device = session_->device();
    require_images(device);
    if (width > device.image2d_max[0] || height > device.image2d_max[1])
        throw UnsupportedError(UnsupportedError::Because::device,
                               what + " needs a " + std::to_string(width) + " x " + std::to_string(height) +
                                   " image; " + device.name + " allows " + std::to_string(device.image2d_max[0]) +
                                   " x " + std::to_string(device.image2d_max[1]));
    const auto bytes = width * height * 4 * static_cast<std::size_t>(channels);
    session_->reserve(bytes, what);
    reserved_ = bytes;
    try {
        handle_ = allocated();
    } catch (...) {
        session_->release(bytes);
        throw;
    }
}

cl::Image2D Image2D::allocated() const {
    return checked([&] {
        return cl::Image2D(session_->context(), CL_MEM_READ_WRITE,
                           cl::ImageFormat(channels_ == 1 ? CL_R : CL_RGBA, CL_FLOAT), width_, height_);
    });
}

void Image2D::make_twin(const cl::CommandQueue& queue, std::vector<cl::Event>& copies) {
    session_->reserve(reserved_, "a copy elsewhere");
    twin_reserved_ = reserved_;
    twin_ = allocated();
    enqueue_image_copy(queue, handle_, twin_, {width_, height_, 1}, copies);
}

void Image2D::drop_twin() noexcept {
    twin_ = {};
    session_->release(std::exchange(twin_reserved_, 0));
}

void Image2D::fill_from(const Buffer& pixels) {
    const auto lock = session_->lock_runs();
    if (auto* const recording = Recording::now()) recording->touch(*this);
    session_->catch_up();
    checked([&] {
        pixels.enqueue_to_image(session_->queue(), handle_, 0, {width_, height_, 1});
        return session_->queue().finish();
    });
}

ImageStack::ImageStack(std::shared_ptr<Session> session, Kind kind, std::size_t width, std::size_t height,
                       std::size_t layers, const std::string& what)
    : session_(std::move(session)), kind_(kind), width_(width), height_(height), layers_(layers) {
    const auto& device = session_->device();
    require_images(device);
    const auto* most = kind == Kind::array ? device.image2d_max : device.image3d_max;
    if (width > most[0] || height > most[1] || layers > most_layers(device, kind))
        throw UnsupportedError(UnsupportedError::Because::device,
                               what + " needs images of " + std::to_string(width) + " x " + std::to_string(height) +
                                   " x " + std::to_string(layers) + "; " + device.name + " allows " +
                                   std::to_string(most[0]) + " x " + std::to_string(most[1]) + " x " +
                                   std::to_string(most_layers(device, kind)));
    const auto bytes = width * height * layers * 4;
    session_->reserve(bytes, what);
    reserved_ = bytes;
    try {
        handle_ = allocated();
    } catch (...) {
        session_->release(bytes);
        throw;
    }
}

std::size_t ImageStack::most_layers(const Device& device, Kind kind) {
    return kind == Kind::array ? device.image_array_max : device.image3d_max[2];
}

cl::Image3D ImageStack::allocated() const {
    const cl::ImageFormat format(CL_R, CL_FLOAT);
    return checked([&] {
        if (kind_ == Kind::array) {
            const cl::Image2DArray array(session_->context(), CL_MEM_READ_WRITE, format, layers_, width_, height_, 0,
                                         0);
            return cl::Image3D(array(), true);
        }
        return cl::Image3D(session_->context(), CL_MEM_READ_WRITE, format, width_, height_, layers_);
    });
}

void ImageStack::make_twin(const cl::CommandQueue& queue, std::vector<cl::Event>& copies) {
    session_->reserve(reserved_, "a copy elsewhere");
    twin_reserved_ = reserved_;
    twin_ = allocated();
    enqueue_image_copy(queue, handle_, twin_, {width_, height_, layers_}, copies);
}

void ImageStack::drop_twin() noexcept {
    twin_ = {};
    session_->release(std::exchange(twin_reserved_, 0));
}

cl::Event ImageStack::enqueue_copy(const cl::CommandQueue& queue, const Buffer& from, std::size_t first_byte,
                                   std::size_t layers, const std::vector<cl::Event>* wait) const {
    return from.enqueue_to_image(queue, handle_, first_byte, {width_, height_, layers}, wait);
}

ImageBuffer::ImageBuffer(std::shared_ptr<Buffer> pixels, std::int64_t count)
    : pixels_(std::move(pixels)), count_(static_cast<std::size_t>(count)) {
    require_images(pixels_->session()->device());
    const auto lock = pixels_->session()->lock_runs();
    argument();
}

const cl::Memory& ImageBuffer::argument() {
    if (made_of_ != pixels_->version()) {
        handle_ = checked([&] {
            return cl::Image1DBuffer(pixels_->session()->context(), CL_MEM_READ_ONLY,
                                     cl::ImageFormat(CL_RGBA, CL_FLOAT), count_, pixels_->handle());
        });
        made_of_ = pixels_->version();
    }
    return handle_;
}

}  // namespace gpuopt
