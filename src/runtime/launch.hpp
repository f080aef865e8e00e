// The index space of one kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device.hpp"

namespace gpuopt {

struct Launch {
    std::array<std::size_t, 3> global{1, 1, 1}, local{1, 1, 1};
    int dimensions = 1;

    bool empty() const { return global[0] * global[1] * global[2] == 0; }
};

// Enough work-groups of `local` items for `items`; none for none.
inline Launch launch_1d(std::int64_t items, std::int64_t local) {
    Launch launch;
    launch.local[0] = static_cast<std::size_t>(local);
    launch.global[0] = static_cast<std::size_t>((items + local - 1) / local * local);
    return launch;
}

// Throws UnsupportedError naming the limit when the device, or this kernel as built for it, allows no such work-group.
void check_launch(const Launch& launch, const Device& device, const cl::Kernel& kernel);

}  // namespace gpuopt
