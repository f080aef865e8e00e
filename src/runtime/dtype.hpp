// Element types of arrays, known to the host only by name and size: kernels are typed by -DREAL=...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuopt {

enum class DType { i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };

struct DTypeFacts {
    const char* numpy_name;
    const char* opencl_name;
    std::size_t bytes;
};

const DTypeFacts& facts(DType dtype);

// Real scalars arrive as double and are handed to a kernel in its own REAL.
struct Scalar {
    alignas(8) unsigned char bytes[8] = {};
    std::size_t size = 0;
};
Scalar real_scalar(DType dtype, double value);

}  // namespace gpuopt
