// A molecule's numbers on their way from the caller's arrays to the kernels' buffers.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dtype.hpp"

namespace gpuopt::gem {

using Point = std::array<double, 3>;

// Numbers of the caller's dtype, read as double.
class Reals {
public:
    Reals(const void* data, DType dtype) : data_(data), wide_(dtype == DType::f64) {}
    double operator[](std::int64_t i) const {
        return wide_ ? static_cast<const double*>(data_)[i] : double(static_cast<const float*>(data_)[i]);
    }
    Point point(std::int64_t i) const { return wide_ ? point_of<double>(i) : point_of<float>(i); }
    explicit operator bool() const { return data_ != nullptr; }

private:
    template <class Real>
    Point point_of(std::int64_t i) const {
        const auto* const at = static_cast<const Real*>(data_) + 3 * i;
        return {double(at[0]), double(at[1]), double(at[2])};
    }
    const void* data_;
    bool wide_;
};

// Numbers of the kernels' own type, rounded to it; get says what a kernel will read.
class Packed {
public:
    Packed(std::int64_t elements, DType dtype)
        : dtype_(dtype), bytes_(static_cast<std::size_t>(elements) * facts(dtype).bytes) {}
    void set(std::int64_t at, double value) {
        if (dtype_ == DType::f32) put(at, static_cast<float>(value));
        else put(at, value);
    }
    double get(std::int64_t at) const { return dtype_ == DType::f32 ? double(read<float>(at)) : read<double>(at); }
    void set4(std::int64_t at, const Point& xyz, double w) {
        if (dtype_ == DType::f32) put(at, std::array<float, 4>{float(xyz[0]), float(xyz[1]), float(xyz[2]), float(w)});
        else put(at, std::array<double, 4>{xyz[0], xyz[1], xyz[2], w});
    }
    const std::vector<unsigned char>& bytes() const { return bytes_; }

private:
    template <class Real>
    void put(std::int64_t at, Real value) {
        std::memcpy(&bytes_[static_cast<std::size_t>(at) * sizeof value], &value, sizeof value);
    }
    template <class Real>
    Real read(std::int64_t at) const {
        Real value = 0;
        std::memcpy(&value, &bytes_[static_cast<std::size_t>(at) * sizeof value], sizeof value);
        return value;
    }
    DType dtype_;
    std::vector<unsigned char> bytes_;
};

// What a plan uploads, gathered in one buffer that is written at once: a blocking write takes as long as a small sum.
// Where that would be large, and between fences, which look at each buffer's ends, every piece has a buffer of its own,
// written when it is added.
class Arena {
public:
    // `bytes` is enough for all pieces that are `add`ed, of which there are at most `pieces`.
    Arena(std::shared_ptr<Session> session, std::size_t bytes, std::size_t pieces);
    bool gathers() const { return !host_.empty(); }
    std::size_t add(const void* data, std::size_t bytes, const std::string& what);  // the piece's number
    void upload();                                                                  // all that was added
    void write_to(Buffer& other) const;  // the same into the buffer of an arena with pieces of the same sizes
    const std::shared_ptr<Buffer>& whole() const {
        return whole_;
    }  // null until `upload`, and where nothing is gathered
    // Once all is uploaded; holds the buffer that it lies in.
    const std::shared_ptr<Memory>& at(std::size_t piece) const { return held_.at(piece); }
    const std::vector<std::shared_ptr<Memory>>& held() const { return held_; }

private:
    struct Range {
        std::size_t from, bytes;
    };
    std::shared_ptr<Session> session_;
    std::shared_ptr<Buffer> whole_;
    std::vector<unsigned char> host_;
    std::vector<Range> pieces_;
    std::vector<std::shared_ptr<Memory>> held_;
};

// Such a piece with a buffer of its own in any case.
std::shared_ptr<Buffer> upload(const std::shared_ptr<Session>& session, const Packed& packed, const std::string& what);

struct Box {
    Point low, high;

    Box(const Reals& places, std::int64_t count);
    Point centre() const { return {(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2}; }
    double diagonal() const;
};

// Atoms along a curve that keeps neighbours together (Morton's), so that tiles of them are small.
std::vector<std::int32_t> along_a_curve(const Reals& places, std::int64_t count, const Box& box);

}  // namespace gpuopt::gem
