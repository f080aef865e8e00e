#include "runtime/device.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace gpuopt {
namespace {

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
    text.erase(0, text.find_first_not_of(' ') == std::string::npos ? 0 : text.find_first_not_of(' '));
    return text;
}

// A fact of an extension; a driver that lists the extension and then refuses the question tells nothing.
template <class Fact>
bool asked(const cl::Device& handle, cl_device_info what, Fact& fact) {
    std::size_t told = 0;
    return clGetDeviceInfo(handle(), what, sizeof fact, &fact, &told) == CL_SUCCESS && told == sizeof fact;
}

// The numbers stand here because older headers lack some of them.
std::string uuid_of(const cl::Device& handle, const std::set<std::string>& extensions) {
    constexpr cl_device_info device_uuid = 0x106A;
    std::array<unsigned char, 16> bytes{};
    if (!extensions.count("cl_khr_device_uuid") || !asked(handle, device_uuid, bytes)) return "";
    if (std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0; })) return "";
    std::string text;
    for (const unsigned char byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        text += digits;
    }
    return text;
}

std::string pci_address(cl_uint domain, cl_uint bus, cl_uint device, cl_uint function) {
    char text[48];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return text;
}

std::string pci_of(const cl::Device& handle, const std::set<std::string>& extensions) {
    constexpr cl_device_info khr_bus_info = 0x410F, nv_bus = 0x4008, nv_slot = 0x4009, nv_domain = 0x400A;
    constexpr cl_device_info amd_topology = 0x4037;
    std::array<cl_uint, 4> khr{};  // domain, bus, device, function
    if (extensions.count("cl_khr_pci_bus_info") && asked(handle, khr_bus_info, khr))
        return pci_address(khr[0], khr[1], khr[2], khr[3]);
    if (extensions.count("cl_nv_device_attribute_query")) {
        cl_uint bus = 0, slot = 0, domain = 0;  // a slot is a device, shifted by three, and a function
        if (asked(handle, nv_bus, bus) && asked(handle, nv_slot, slot)) {
            if (!asked(handle, nv_domain, domain)) domain = 0;
            return pci_address(domain, bus, slot >> 3, slot & 7);
        }
    }
    if (extensions.count("cl_amd_device_attribute_query")) {
        std::array<unsigned char, 24>
            topology{};  // a type (1: PCIe) of four bytes; the last three: bus, device, function
        if (asked(handle, amd_topology, topology) && topology[0] == 1)
            return pci_address(0, topology[21], topology[22], topology[23]);
    }
    return "";
}

// What code is compiled for: devices that share it are siblings, whatever their names.
std::string architecture_of(const cl::Device& handle, const Device& device) {
    constexpr cl_device_info nv_major = 0x4000, nv_minor = 0x4001, intel_ip_version = 0x4250;
    if (device.type == DeviceType::cpu)
        return device.platform + ", " + std::to_string(device.vector_bytes) + "-byte vectors";
    cl_uint major = 0, minor = 0, version = 0;
    if (device.is_nvidia() && asked(handle, nv_major, major) && asked(handle, nv_minor, minor))
        return "sm_" + std::to_string(major) + std::to_string(minor);
    if (device.extensions.count("cl_intel_device_attribute_query") && asked(handle, intel_ip_version, version))
        return "intel_" + std::to_string(version >> 22) + "." + std::to_string((version >> 14) & 0xFF) + "." +
               std::to_string(version & 0x3F);
    // AMD's drivers name a GPU by its architecture, with features behind colons.
    return device.name.rfind("gfx", 0) == 0 ? device.name.substr(0, device.name.find(':')) : "";
}

}  // namespace

int Device::compute_capability() const {
    return architecture.rfind("sm_", 0) == 0 ? std::atoi(architecture.c_str() + 3) : 0;
}

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
        device.architecture = architecture_of(handle, device);
        device.uuid = uuid_of(handle, device.extensions);
        device.pci = pci_of(handle, device.extensions);
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
