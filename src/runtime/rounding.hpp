// Whole numbers rounded up to parts and multiples.
#pragma once

#include <cstdint>

namespace gpuopt {

// How many parts of `divisor` hold `value`.
inline std::int64_t quotient_up(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }
inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
    return quotient_up(value, multiple) * multiple;
}

}  // namespace gpuopt
