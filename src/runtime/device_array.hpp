// An n-dimensional, C-contiguous array in device memory.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dtype.hpp"

namespace gpuopt {

struct DeviceArray {
    std::shared_ptr<Buffer> buffer;
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;

    static std::size_t bytes_of(DType dtype, const std::vector<std::int64_t>& shape) {
        return std::accumulate(shape.begin(), shape.end(), facts(dtype).bytes,
                               [](std::size_t bytes, std::int64_t n) { return bytes * std::size_t(n); });
    }
    static DeviceArray empty(const std::shared_ptr<Session>& session, DType dtype, std::vector<std::int64_t> shape,
                             const std::string& what, bool guarded = false) {
        auto buffer = std::make_shared<Buffer>(session, bytes_of(dtype, shape), what, guarded);
        return {std::move(buffer), dtype, std::move(shape)};
    }
};

}  // namespace gpuopt
