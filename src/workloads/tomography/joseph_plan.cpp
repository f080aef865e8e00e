// The memory that a projector's plans share, and runs of a plan on other arrays.
#include "runtime/interrupt.hpp"
#include "workloads/tomography/joseph.hpp"

namespace gpuopt {

std::shared_ptr<Buffer> JosephScratch::buffer(std::size_t bytes, const std::string& what) {
    const auto lock = mutex_.lock();
    if (buffer_ && buffer_->bytes() >= bytes) return buffer_;
    buffer_.reset();
    buffer_ = std::make_shared<Buffer>(session_, bytes, what);
    return buffer_;
}

std::shared_ptr<ImageStack> JosephScratch::layers(const std::array<std::size_t, 3>& size) {
    const auto lock = mutex_.lock();
    auto& held = layers_[size];
    if (!held)
        held = std::make_shared<ImageStack>(session_, ImageStack::Kind::array, size[0], size[1], size[2],
                                            "the planes across a main axis");
    return held;
}

const std::shared_ptr<Prepared>& ProjectorPlan::prepared() {
    const auto lock = mutex_.lock();
    if (started_) throw ParameterError("plan", "it has been started, and holds no arrays since", "prepare another one");
    return prepared_;
}

void ProjectorPlan::start(const std::shared_ptr<Buffer>& volume, const std::shared_ptr<Buffer>& projections) {
    const auto lock = mutex_.lock();
    for (const auto& place : places_)
        prepared_->rebind(place.step, place.argument, place.volume ? volume : projections);
    if (read_) *read_ = projections;
    started_ = true;
    const auto let_go = [&] {
        if (read_) read_->reset();
        arrays_->clear();
        prepared_->source.reset();
    };
    try {
        prepared_->start();
    } catch (...) {
        let_go();
        throw;
    }
    let_go();
}

}  // namespace gpuopt
