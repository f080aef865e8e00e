#include "runtime/image.hpp"

namespace gpuopt {

Image2D::Image2D(std::shared_ptr<Session> session, std::size_t width, std::size_t height, const std::string& what)
    : session_(std::move(session)) {
    const auto& device = session_->device();
    if (!device.image_support)
        throw UnsupportedError(UnsupportedError::Because::device, device.name + " has no images");
    if (width > device.image2d_max[0] || height > device.image2d_max[1])
        throw UnsupportedError(UnsupportedError::Because::device,
                               what + " needs a " + std::to_string(width) + " x " + std::to_string(height) +
                                   " image; " + device.name + " allows " + std::to_string(device.image2d_max[0]) +
                                   " x " + std::to_string(device.image2d_max[1]));
    const auto bytes = width * height * 16;
    session_->reserve(bytes, what);
    reserved_ = bytes;
    try {
        handle_ = checked([&] {
            return cl::Image2D(session_->context(), CL_MEM_READ_WRITE, cl::ImageFormat(CL_RGBA, CL_FLOAT), width,
                               height);
        });
    } catch (...) {
        session_->release(bytes);
        throw;
    }
}

}  // namespace gpuopt
