// An n-dimensional, C-contiguous array in device memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dtype.hpp"

namespace gpuopt {

struct DeviceArray {
    std::shared_ptr<Buffer> buffer;
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;

    // Throws DeviceMemoryError for what no address can reach.
    static std::size_t bytes_of(DType dtype, const std::vector<std::int64_t>& shape, const std::string& what) {
        if (std::count(shape.begin(), shape.end(), 0) > 0) return 0;
        std::size_t bytes = facts(dtype).bytes;
        for (const auto n : shape) {
            if (std::size_t(n) > std::size_t(PTRDIFF_MAX) / bytes)
                throw DeviceMemoryError(what + " needs more bytes than an address can count; use a smaller problem");
            bytes *= std::size_t(n);
        }
        return bytes;
    }
    static DeviceArray empty(const std::shared_ptr<Session>& session, DType dtype, std::vector<std::int64_t> shape,
                             const std::string& what, Guard guard = Guard::none) {
        auto buffer = std::make_shared<Buffer>(session, bytes_of(dtype, shape, what), what, guard);
        return {std::move(buffer), dtype, std::move(shape)};
    }
};

}  // namespace gpuopt
