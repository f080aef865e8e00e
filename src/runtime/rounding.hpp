// Whole numbers rounded up to parts and multiples.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuopt {

// How many parts of `divisor` hold `value`.
inline std::int64_t quotient_up(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }
inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
    return quotient_up(value, multiple) * multiple;
}
inline std::size_t round_up(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace gpuopt
