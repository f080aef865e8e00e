#include "runtime/device.hpp"

#include <algorithm>
#include <sstream>

namespace gpuopt {
namespace {

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
    text.erase(0, text.find_first_not_of(' ') == std::string::npos ? 0 : text.find_first_not_of(' '));
    return text;
}

}  // namespace

const char* name_of(DeviceType type) {
    switch (type) {
        case DeviceType::gpu: return "gpu";
        case DeviceType::accelerator: return "accelerator";
        case DeviceType::cpu: return "cpu";
        case DeviceType::custom: break;
    }
    return "custom";
}

std::string device_name(const cl::Device& handle) {
    return checked([&] { return trimmed(handle.getInfo<CL_DEVICE_NAME>()); });
}

Device describe(const cl::Device& handle) {
    return checked([&] {
        Device device;
        device.handle = handle;
        device.name = device_name(handle);
        const cl::Platform platform(handle.getInfo<CL_DEVICE_PLATFORM>());
        device.platform = trimmed(platform.getInfo<CL_PLATFORM_NAME>());
        device.vendor = trimmed(handle.getInfo<CL_DEVICE_VENDOR>());
        device.version = trimmed(handle.getInfo<CL_DEVICE_VERSION>());
        device.driver = trimmed(handle.getInfo<CL_DRIVER_VERSION>());
        device.key = device.platform + " / " + device.name;

        const auto type = handle.getInfo<CL_DEVICE_TYPE>();
        if (type & CL_DEVICE_TYPE_GPU) device.type = DeviceType::gpu;
        else if (type & CL_DEVICE_TYPE_ACCELERATOR) device.type = DeviceType::accelerator;
        else if (type & CL_DEVICE_TYPE_CPU) device.type = DeviceType::cpu;

        device.compute_units = handle.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
        device.clock_mhz = handle.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>();
        device.global_bytes = handle.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
        device.max_alloc_bytes = handle.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
        device.local_bytes = handle.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
        device.constant_bytes = handle.getInfo<CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE>();
        device.max_work_group_size = handle.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
        device.base_align_bytes = std::max<std::size_t>(handle.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8, 128);
        device.vector_bytes = handle.getInfo<CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT>() * 4;
        device.timer_ns = handle.getInfo<CL_DEVICE_PROFILING_TIMER_RESOLUTION>();
        device.unified_memory = handle.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>();

        std::istringstream words(handle.getInfo<CL_DEVICE_EXTENSIONS>());
        for (std::string word; words >> word;) device.extensions.insert(trimmed(word));
        device.fp64 = device.extensions.count("cl_khr_fp64") > 0;
        device.fp16 = device.extensions.count("cl_khr_fp16") > 0;
        device.subgroups = device.extensions.count("cl_khr_subgroups") > 0;

        device.image_support = handle.getInfo<CL_DEVICE_IMAGE_SUPPORT>();
        if (device.image_support) {
            device.image2d_max[0] = handle.getInfo<CL_DEVICE_IMAGE2D_MAX_WIDTH>();
            device.image2d_max[1] = handle.getInfo<CL_DEVICE_IMAGE2D_MAX_HEIGHT>();
            device.image3d_max[0] = handle.getInfo<CL_DEVICE_IMAGE3D_MAX_WIDTH>();
            device.image3d_max[1] = handle.getInfo<CL_DEVICE_IMAGE3D_MAX_HEIGHT>();
            device.image3d_max[2] = handle.getInfo<CL_DEVICE_IMAGE3D_MAX_DEPTH>();
            device.image_array_max = handle.getInfo<CL_DEVICE_IMAGE_MAX_ARRAY_SIZE>();
            device.image_buffer_max = handle.getInfo<CL_DEVICE_IMAGE_MAX_BUFFER_SIZE>();
        }
        return device;
    });
}

}  // namespace gpuopt
