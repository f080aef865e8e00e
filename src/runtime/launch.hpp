// The index space of one kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device.hpp"
#include "runtime/rounding.hpp"

namespace gpuopt {

// The most work-groups of a launch in y, and in z, on CUDA devices, which OpenCL tells nowhere.
constexpr std::int64_t most_groups_yz = 65535;

struct Launch {
    std::array<std::size_t, 3> global{1, 1, 1}, local{1, 1, 1};
    int dimensions = 1;

    bool empty() const { return global[0] == 0 || global[1] == 0 || global[2] == 0; }
};

// Enough work-groups of `local` items for `items`; none for none.
inline Launch launch_1d(std::int64_t items, std::int64_t local) {
    Launch launch;
    launch.local[0] = static_cast<std::size_t>(local);
    launch.global[0] = static_cast<std::size_t>(round_up(items, local));
    return launch;
}

// Enough work-groups of `local_x` by `local_y` items for items in two dimensions.
inline Launch launch_2d(const std::array<std::int64_t, 2>& items, std::int64_t local_x, std::int64_t local_y) {
    auto launch = launch_1d(items[0], local_x);
    launch.dimensions = 2;
    launch.local[1] = static_cast<std::size_t>(local_y);
    launch.global[1] = static_cast<std::size_t>(round_up(items[1], local_y));
    return launch;
}

// Enough work-groups of `local_x` by `local_y` items for items in three dimensions.
inline Launch launch_3d(const std::array<std::int64_t, 3>& items, std::int64_t local_x, std::int64_t local_y) {
    auto launch = launch_2d({items[0], items[1]}, local_x, local_y);
    launch.dimensions = 3;
    launch.global[2] = static_cast<std::size_t>(items[2]);
    return launch;
}

// The local memory that kernels may take by the driver's own figure.
std::uint64_t most_local_bytes(const Device& device);

// Throws UnsupportedError naming the limit when the device, or this kernel as built for it, allows no such work-group,
// and for 2^63 work-items or more.
void check_launch(const Launch& launch, const Device& device, const cl::Kernel& kernel);

}  // namespace gpuopt
