// Arithmetic of sizes that callers choose: what would not fit 63 bits is refused instead of wrapped.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace gpuopt {

// The product of sizes of at least 0; none where it does not fit.
inline std::optional<std::int64_t> size_product(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const auto factor : factors)
        if (factor == 0) return 0;
    for (const auto factor : factors)
        if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
    return product;
}

}  // namespace gpuopt
