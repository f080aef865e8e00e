// Arithmetic on buffers of one device: of arrays, and what iterations compute between projections. Only functions that
// return numbers wait.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dtype.hpp"

namespace gpuopt {

// Two sums of a reduction; their parts stay on the device until they are read.
class DeviceSums {
public:
    DeviceSums(std::shared_ptr<Buffer> parts, bool doubles) : parts_(std::move(parts)), doubles_(doubles) {}
    std::array<double, 2> read() const;  // waits

private:
    std::shared_ptr<Buffer> parts_;
    bool doubles_;
};

// Copies bytes from one buffer of a device to another.
void copy_bytes(const Buffer& from, std::size_t first, std::size_t bytes, const Buffer& to, std::size_t at);

// Of arrays of fp32 or fp64 are `combine`, `shift`, `product` and `dot`; all else is of fp32 alone.
class DeviceArithmetic {
public:
    // Throws UnsupportedError where the device has no such numbers.
    explicit DeviceArithmetic(std::shared_ptr<Session> session, DType dtype = DType::f32);
    const std::shared_ptr<Session>& session() const { return session_; }
    DType dtype() const { return dtype_; }

    void combine(double a, const Buffer& x, double b, const Buffer& y, const Buffer& out) const;  // out = a x + b y
    void shift(double a, const Buffer& x, double b, const Buffer& out) const;                     // out = a x + b
    void product(const Buffer& x, const Buffer& y, const Buffer& out) const;

    void fill(const Buffer& x, float value) const;
    void axpy(float a, const Buffer& x, const Buffer& y, const Buffer& out) const;
    void multiply(const Buffer& x, const Buffer& by) const;
    void reciprocal(const Buffer& x, float fraction) const;                 // of its own largest element
    void reciprocal(const Buffer& x, float fraction, float largest) const;  // of this one
    DeviceSums residual(const Buffer& b, const Buffer& ax, const Buffer& weights) const;
    void update(const Buffer& x, float step, const Buffer& weights, const Buffer& g, float low, float high,
                float rounding, const Buffer* mask, const Buffer& out) const;
    float largest(const Buffer& x) const;                // waits
    double dot(const Buffer& x, const Buffer& y) const;  // waits
    std::size_t not_finite(const Buffer& x) const;       // waits; how many elements
    void finish() const;

private:
    // Runs a kernel on its arguments, in order, then the number of floats of `extent`, or a count.
    template <class... Values>
    void run(const char* entry_point, const Buffer& extent, std::size_t groups, const Values&... values) const;
    template <class... Values>
    void run_elements(const char* entry_point, std::size_t count, std::size_t groups, const Values&... values) const;
    std::size_t reals(const Buffer& extent) const { return extent.bytes() / facts(dtype_).bytes; }
    void enqueue(const cl::Kernel& kernel, std::size_t groups) const;
    std::size_t groups_of(const Buffer& extent) const;
    std::shared_ptr<Buffer> parts() const;
    std::shared_ptr<Session> session_;
    DType dtype_;
    std::string options_;
    std::shared_ptr<const Program> program_;
    mutable std::mutex mutex_;
    mutable std::vector<std::shared_ptr<Buffer>> pool_;  // of parts; one is free where nobody else holds it
};

}  // namespace gpuopt
