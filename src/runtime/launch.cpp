#include "runtime/launch.hpp"

#include <algorithm>
#include <cstdint>

namespace gpuopt {

std::uint64_t most_local_bytes(const Device& device) {
    // NVIDIA's figure of a kernel includes the arrays' largest alignment; a kernel whose arrays fill all local memory
    // runs (driver 580). Of a kernel that has arguments alone it is 1.
    return device.local_bytes + (device.is_nvidia() ? 128 : 0);
}

namespace {

// How many items there are; the largest number where there are more.
std::size_t count_of(const std::array<std::size_t, 3>& sizes) {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
    std::size_t count = 1;
    for (const auto size : sizes)
        if (__builtin_mul_overflow(count, size, &count)) return SIZE_MAX;
    return count;
}

}  // namespace

void check_launch(const Launch& launch, const Device& device, const cl::Kernel& kernel) {
    if (count_of(launch.global) > INT64_MAX)
        throw UnsupportedError(UnsupportedError::Because::device,
                               "a launch of 2^63 work-items or more; no device does");
    if (device.is_nvidia())
        for (std::size_t axis = 1; axis < 3; ++axis)
            if (const auto groups = launch.global[axis] / launch.local[axis]; groups > std::size_t(most_groups_yz))
                throw UnsupportedError(UnsupportedError::Because::device,
                                       std::to_string(groups) + " work-groups in dimension " + std::to_string(axis) +
                                           "; " + device.name + " runs at most " + std::to_string(most_groups_yz));
    const auto items = count_of(launch.local);
    const auto allowed = checked([&] { return kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device.handle); });
    // NVIDIA reports a limit of 256 for kernels compiled for exactly 1024 items, which do run (driver 580).
    const auto compiled =
        checked([&] { return kernel.getWorkGroupInfo<CL_KERNEL_COMPILE_WORK_GROUP_SIZE>(device.handle); });
    const bool made_for_it = device.is_nvidia() && compiled[0] == launch.local[0] && compiled[1] == launch.local[1] &&
                             compiled[2] == launch.local[2] && items <= device.max_work_group_size;
    if (items > allowed && !made_for_it)
        throw UnsupportedError(UnsupportedError::Because::device,
                               "a work-group of " + std::to_string(items) + " items; " + device.name +
                                   " runs this kernel with at most " + std::to_string(allowed));
    const auto local_bytes = checked([&] { return kernel.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(device.handle); });
    if (local_bytes > most_local_bytes(device))
        throw UnsupportedError(UnsupportedError::Because::device, std::to_string(local_bytes) +
                                                                      " bytes of local memory; " + device.name +
                                                                      " has " + std::to_string(device.local_bytes));
}

}  // namespace gpuopt
