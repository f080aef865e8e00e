// What a device says of itself, asked once.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "runtime/opencl.hpp"

namespace gpuopt {

enum class DeviceType { gpu, accelerator, cpu, custom };
const char* name_of(DeviceType type);

struct Device {
    cl::Device handle;
    int index = 0;    // place in the list, best device first
    std::string key;  // stable identity: "platform / name", with #n for a twin
    std::string name, platform, vendor, version, driver;
    std::string architecture;  // "sm_90", "gfx942", "intel_12.55.8", a CPU's runtime and vectors; "" where not told
    std::string uuid, pci;     // 32 hex digits; "0000:01:00.0"; "" where the driver does not tell
    DeviceType type = DeviceType::custom;
    std::uint32_t compute_units = 0, clock_mhz = 0;
    std::uint64_t global_bytes = 0, max_alloc_bytes = 0, local_bytes = 0, constant_bytes = 0;
    std::size_t max_work_group_size = 0, base_align_bytes = 0;
    std::uint32_t vector_bytes = 0;  // of its own vectors, as wide as they come
    std::size_t image2d_max[2] = {0, 0}, image3d_max[3] = {0, 0, 0}, image_buffer_max = 0, image_array_max = 0;
    bool image_support = false, fp64 = false, fp16 = false, subgroups = false, unified_memory = false;
    std::uint64_t timer_ns = 0;
    std::set<std::string> extensions;

    bool is_nvidia() const { return extensions.count("cl_nv_device_attribute_query") > 0; }
    // 90 of "sm_90"; 0 of other devices.
    int compute_capability() const;
};

std::string device_name(const cl::Device& handle);
Device describe(const cl::Device& handle);

}  // namespace gpuopt
