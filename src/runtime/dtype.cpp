#include "runtime/dtype.hpp"

#include <cstring>

#include "runtime/error.hpp"

namespace gpuopt {

const DTypeFacts& facts(DType dtype) {
    static const DTypeFacts table[] = {
        {"int8", "char", 1},    {"uint8", "uchar", 1},   {"int16", "short", 2},    {"uint16", "ushort", 2},
        {"int32", "int", 4},    {"uint32", "uint", 4},   {"int64", "long", 8},     {"uint64", "ulong", 8},
        {"float16", "half", 2}, {"float32", "float", 4}, {"float64", "double", 8},
    };
    return table[static_cast<int>(dtype)];
}

Scalar real_scalar(DType dtype, double value) {
    Scalar scalar;
    if (dtype == DType::f64) {
        scalar.size = sizeof value;
        std::memcpy(scalar.bytes, &value, sizeof value);
    } else if (dtype == DType::f32) {
        const auto single = static_cast<float>(value);
        scalar.size = sizeof single;
        std::memcpy(scalar.bytes, &single, sizeof single);
    } else {
        throw Error(std::string("a real scalar cannot be handed over as ") + facts(dtype).numpy_name);
    }
    return scalar;
}

}  // namespace gpuopt
