// A kernel that takes time and does nothing else. What is enqueued behind it waits on the device, ready to run. Behind
// an event of the user's it would wait in the driver, which hands over one command after the other when the event is
// set: on an H200 short kernels follow one another every 4 to 6 us then, behind a spin every 1.8
// (`results/h200/event-cost.txt`).
#pragma once

#include <memory>

#include "runtime/program.hpp"

namespace gpuopt {

class Spin {
public:
    // Measures itself in the queue, whose events have times. Throws Error where these do not show what it takes.
    Spin(std::shared_ptr<const Program> program, const cl::Context& context, const cl::CommandQueue& queue);
    Spin(const Spin&) = delete;
    Spin& operator=(const Spin&) = delete;

    // Enqueues itself, to last until so many commands are likely to be enqueued behind it.
    void start(const cl::CommandQueue& queue, std::size_t commands);
    bool goes_on() const;
    // Until it ends; the host's processor does not rest, to see it at once.
    void wait() const;
    // Once it has ended: when it did, by the device's clock.
    cl_ulong end() const;
    // The same: how long the host took to enqueue what is behind it, for the next time.
    void learn(double enqueuing_ms);

private:
    void enqueue(const cl::CommandQueue& queue, double steps);
    double took_ms() const;

    std::shared_ptr<const Program> program_;
    cl::Kernel kernel_;
    cl::Buffer state_;
    cl::Event event_;
    double steps_ = 0, step_ms_ = 0;  // of the last time
    double command_ms_ = 10e-3;       // for the host to enqueue one
    std::size_t commands_ = 0;
};

}  // namespace gpuopt
