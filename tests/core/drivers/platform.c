// An OpenCL platform whose devices are the cases a discovery must tell apart: usable, unable to describe itself,
// unavailable, without a compiler. With MADE_UP_TWINS it has two equal GPUs instead, which tell their place on the bus by
// an extension of the named vendor (khr, nvidia, amd), are told apart by a UUID (uuid), or do neither (silent).
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FINE, DUMB, ASLEEP, NO_COMPILER, DEVICES };
enum { INVALID_VALUE = -30, OUT_OF_HOST_MEMORY = -6, IS_CPU = 2, IS_GPU = 4, TWINS = 2 };
enum { GET_PLATFORM_INFO = 1, GET_DEVICE_IDS = 2, GET_DEVICE_INFO = 3, TABLE_LENGTH = 200 };
enum { TYPE = 0x1000, AVAILABLE = 0x1027, COMPILER_AVAILABLE = 0x1028, NAME = 0x102B, VENDOR = 0x102C };
enum { DRIVER_VERSION = 0x102D, DEVICE_VERSION = 0x102F, EXTENSIONS = 0x1030, DEVICE_PLATFORM = 0x1031 };
enum { UUID = 0x106A, KHR_BUS = 0x410F, NV_BUS = 0x4008, NV_SLOT = 0x4009, NV_DOMAIN = 0x400A, AMD_TOPOLOGY = 0x4037 };

struct object {
    void** dispatch;
};

static void* table[TABLE_LENGTH];
static struct object platform = {table}, devices[DEVICES] = {{table}, {table}, {table}, {table}};
static const char* const names[DEVICES] = {"fine", "dumb", "asleep", "no compiler"};

static int answer(const void* value, size_t bytes, size_t room, void* out, size_t* needed) {
    if (needed) *needed = bytes;
    if (out && room < bytes) return INVALID_VALUE;
    if (out) memcpy(out, value, bytes);
    return 0;
}

static int answer_text(const char* text, size_t room, void* out, size_t* needed) {
    return answer(text, strlen(text) + 1, room, out, needed);
}

static int platform_info(void* which, uint32_t name, size_t room, void* out, size_t* needed) {
    (void)which;
    static const char* const answers[] = {"FULL_PROFILE", "OpenCL 1.1 made up", "Made-up platform", "Nobody",
                                          "cl_khr_icd"};
    if (name == 0x0920) return answer_text("MADEUP", room, out, needed);
    return name >= 0x0900 && name <= 0x0904 ? answer_text(answers[name - 0x0900], room, out, needed) : INVALID_VALUE;
}

static int device_ids(void* which, uint64_t type, uint32_t room, void** out, uint32_t* count) {
    (void)which, (void)type;
    const uint32_t all = getenv("MADE_UP_TWINS") ? TWINS : DEVICES;
    if (count) *count = all;
    for (uint32_t i = 0; out && i < room && i < all; ++i) out[i] = &devices[i];
    return 0;
}

// Where a twin is: on bus 0x41 or 0x42 of domain 1, device 3, function 1.
static int twin_info(const char* way, uint32_t twin, uint32_t name, size_t room, void* out, size_t* needed) {
    const uint32_t bus = 0x41 + twin, khr[4] = {1, bus, 3, 1}, slot = 3 << 3 | 1, domain = 1;
    const unsigned char uuid[16] = {0xab, 1, [15] = (unsigned char)twin};
    const unsigned char topology[24] = {1, [21] = (unsigned char)bus, [22] = 3, [23] = 1};
    const int nvidia = !strcmp(way, "nvidia");
    if (name == EXTENSIONS) {
        const char* text = !strcmp(way, "khr")    ? "cl_khr_pci_bus_info"
                           : nvidia               ? "cl_nv_device_attribute_query"
                           : !strcmp(way, "amd")  ? "cl_amd_device_attribute_query"
                           : !strcmp(way, "uuid") ? "cl_nv_device_attribute_query cl_khr_device_uuid"
                                                  : "cl_khr_device_uuid cl_khr_pci_bus_info";
        return answer_text(text, room, out, needed);
    }
    if (name == KHR_BUS && !strcmp(way, "khr")) return answer(khr, sizeof khr, room, out, needed);
    if (name == NV_BUS && nvidia) return answer(&bus, sizeof bus, room, out, needed);
    if (name == NV_SLOT && nvidia) return answer(&slot, sizeof slot, room, out, needed);
    if (name == NV_DOMAIN && nvidia) return answer(&domain, sizeof domain, room, out, needed);
    if (name == AMD_TOPOLOGY && !strcmp(way, "amd")) return answer(topology, sizeof topology, room, out, needed);
    if (name == UUID && !strcmp(way, "uuid")) return answer(uuid, sizeof uuid, room, out, needed);
    return INVALID_VALUE;
}

static int device_info(void* which, uint32_t name, size_t room, void* out, size_t* needed) {
    const char* way = getenv("MADE_UP_TWINS");
    const long device = way ? FINE : (struct object*)which - devices;
    const uint64_t type = way ? IS_GPU : IS_CPU;
    const uint32_t available = device != ASLEEP, compiler = device != NO_COMPILER;
    const unsigned char zeros[8] = {0};
    const void* home = &platform;
    const int told = name == EXTENSIONS || name == UUID || name == KHR_BUS || (name >= 0x4000 && name < 0x4100);
    if (way && told) return twin_info(way, (uint32_t)((struct object*)which - devices), name, room, out, needed);
    switch (name) {
        case NAME: return answer_text(names[device], room, out, needed);
        case VENDOR:
            if (device == DUMB) return OUT_OF_HOST_MEMORY;
            return answer_text("Nobody", room, out, needed);
        case DRIVER_VERSION: return answer_text("1", room, out, needed);
        case DEVICE_VERSION: return answer_text("OpenCL 1.1 made up", room, out, needed);
        case EXTENSIONS: return answer_text("", room, out, needed);
        case DEVICE_PLATFORM: return answer(&home, sizeof home, room, out, needed);
        case TYPE: return answer(&type, sizeof type, room, out, needed);
        case AVAILABLE: return answer(&available, sizeof available, room, out, needed);
        case COMPILER_AVAILABLE: return answer(&compiler, sizeof compiler, room, out, needed);
        default: return answer(zeros, room < sizeof zeros ? room : sizeof zeros, room, out, needed);
    }
}

int clIcdGetPlatformIDsKHR(uint32_t room, void** out, uint32_t* count) {
    table[GET_PLATFORM_INFO] = (void*)platform_info;
    table[GET_DEVICE_IDS] = (void*)device_ids;
    table[GET_DEVICE_INFO] = (void*)device_info;
    if (count) *count = 1;
    if (out && room) out[0] = &platform;
    return 0;
}

int clGetPlatformInfo(void* which, uint32_t name, size_t room, void* out, size_t* needed) {
    return platform_info(which, name, room, out, needed);
}

void* clGetExtensionFunctionAddress(const char* name) {
    if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return (void*)clIcdGetPlatformIDsKHR;
    return strcmp(name, "clGetPlatformInfo") ? 0 : (void*)platform_info;
}
