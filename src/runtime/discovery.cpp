#include "runtime/discovery.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

namespace gpuopt {
namespace {

namespace fs = std::filesystem;
constexpr const char* system_vendor_dir = "/etc/OpenCL/vendors";

std::vector<std::string>& prefixes() {
    static std::vector<std::string> list;
    return list;
}

bool is_fpga_emulator(const std::string& text) {
    return text.find("intelocl_emu") != std::string::npos || text.find("FPGA Emulation") != std::string::npos ||
           text.find("fpga_emu") != std::string::npos;
}

std::string first_line(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    const auto end = line.find_last_not_of(" \t\r\n");
    return end == std::string::npos ? "" : line.substr(0, end + 1);
}

std::vector<fs::path> vendor_files_in(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored))
        if (it->path().extension() == ".icd") files.push_back(it->path());
    std::sort(files.begin(), files.end());
    return files;
}

bool can_load(const std::string& library) {
    if (library.find('/') != std::string::npos) return fs::exists(library);
    // A bare name is resolved by the dynamic linker; asking it is the only honest test.
    if (void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
        dlclose(handle);
        return true;
    }
    return false;
}

// Wheels carry a placeholder path inside their .icd: only its base name is meant, and it lies in the prefix's lib.
std::string library_in_prefix(const fs::path& prefix, const std::string& named) {
    if (fs::path(named).is_absolute() && fs::exists(named)) return named;
    for (const char* lib : {"lib", "lib64"}) {
        const auto candidate = prefix / lib / fs::path(named).filename();
        if (fs::exists(candidate)) return candidate.string();
    }
    return "";
}

void look_at_vendor_files(Discovery& found) {
    for (const auto& file : vendor_files_in(system_vendor_dir)) {
        const auto library = first_line(file);
        found.vendor_files.push_back({file.string(), library, can_load(library) ? "used" : "library not found", ""});
    }
    for (const auto& prefix : prefixes())
        for (const auto& file : vendor_files_in(fs::path(prefix) / "etc/OpenCL/vendors")) {
            const auto named = first_line(file);
            const auto library = library_in_prefix(prefix, named);
            std::string status = "used";
            if (is_fpga_emulator(file.string()) || is_fpga_emulator(named)) status = "left out: an FPGA emulator";
            else if (library.empty()) status = "library not found";
            for (const auto& other : found.vendor_files) {
                std::error_code ignored;
                if (status == "used" && fs::equivalent(other.library, library, ignored))
                    status = "left out: listed already";
            }
            found.vendor_files.push_back({file.string(), library.empty() ? named : library, status, prefix});
        }
}

// Debian 12's loader knows OCL_ICD_VENDORS (a directory) and nothing else that could add a runtime, so a private
// directory repeats the system's files and adds the prefix's. It is named to the loader for its one read only and then
// taken away again: child processes inherit nothing.
class PrivateVendorDir {
public:
    explicit PrivateVendorDir(const Discovery& found) {
        auto pattern = (fs::temp_directory_path() / "gpuopt-icd-XXXXXX").string();
        if (!mkdtemp(pattern.data())) return;
        directory_ = pattern;
        int count = 0;
        for (const auto& file : found.vendor_files)
            if (file.status == "used") {
                std::ofstream out(directory_ / (std::to_string(count++) + ".icd"));
                out << file.library << "\n";
            }
        setenv("OCL_ICD_VENDORS", directory_.c_str(), 1);
    }
    ~PrivateVendorDir() {
        if (directory_.empty()) return;
        unsetenv("OCL_ICD_VENDORS");
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }
    PrivateVendorDir(const PrivateVendorDir&) = delete;
    PrivateVendorDir& operator=(const PrivateVendorDir&) = delete;
    bool used() const { return !directory_.empty(); }

private:
    fs::path directory_;
};

// Asked after the platforms: the question alone makes a loader read its vendor files.
std::string loader_version(const std::string& loader_path) {
    // An extension of both loaders: 2 = CL_ICDL_VERSION, 3 = CL_ICDL_NAME (ocl_icd.h). ocl-icd hands it out by name
    // only.
    using LoaderInfo = cl_int (*)(cl_uint, size_t, void*, size_t*);
    using Lookup = void* (*)(const char*);
    void* loader = dlopen(loader_path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!loader) return "unknown";
    constexpr const char* name = "clGetICDLoaderInfoOCLICD";
    void* address = dlsym(loader, name);
    if (const auto look_up = reinterpret_cast<Lookup>(dlsym(loader, "clGetExtensionFunctionAddress"));
        !address && look_up)
        address = look_up(name);
    const auto info = reinterpret_cast<LoaderInfo>(address);
    if (!info) return "unknown";
    std::string text;
    for (const cl_uint what : {3u, 2u}) {
        char part[128] = {};
        if (info(what, sizeof part - 1, part, nullptr) == CL_SUCCESS && part[0])
            text += (text.empty() ? "" : " ") + std::string(part);
    }
    return text.empty() ? "unknown" : text;
}

int rank(const Device& device) {
    // Two CPU runtimes on one machine: Intel's compiler vectorises across work-items, PoCL 3.1's hardly (11x on scalar
    // all-pairs code, 2-core AVX-512 CPU, 2026-11), so it comes first.
    const bool pocl = device.platform.find("Portable Computing Language") != std::string::npos;
    return 2 * static_cast<int>(device.type) + (pocl ? 1 : 0);
}

Discovery run_discovery() {
    Discovery found;
    Dl_info loader;
    if (dladdr(reinterpret_cast<void*>(&clGetPlatformIDs), &loader) && loader.dli_fname)
        found.loader_path = fs::weakly_canonical(loader.dli_fname).string();
    for (const char* name : {"OCL_ICD_FILENAMES", "OCL_ICD_VENDORS"})
        if (const char* value = getenv(name)) found.user_setting_name = name, found.user_setting_value = value;

    look_at_vendor_files(found);
    std::vector<cl::Platform> platforms;
    {
        const bool prefix_adds =
            std::any_of(found.vendor_files.begin(), found.vendor_files.end(),
                        [](const VendorFile& file) { return !file.prefix.empty() && file.status == "used"; });
        std::unique_ptr<PrivateVendorDir> extra;
        if (found.user_setting_name.empty() && prefix_adds) extra = std::make_unique<PrivateVendorDir>(found);
        found.prefix_dir_used = extra && extra->used();
        try {
            cl::Platform::get(&platforms);
        } catch (const cl::Error& error) {
            found.error = opencl_error_name(error.err());
        }
    }

    found.loader_version = loader_version(found.loader_path);

    std::vector<Device> devices;
    for (const auto& platform : platforms) {
        PlatformFacts facts;
        try {
            facts = {platform.getInfo<CL_PLATFORM_NAME>(),
                     platform.getInfo<CL_PLATFORM_VENDOR>(),
                     platform.getInfo<CL_PLATFORM_VERSION>(),
                     {}};
            std::vector<cl::Device> handles;
            if (!is_fpga_emulator(facts.name)) platform.getDevices(CL_DEVICE_TYPE_ALL, &handles);
            for (const auto& handle : handles) {
                auto device = describe(handle);
                facts.devices.push_back(device.name);
                if (handle.getInfo<CL_DEVICE_AVAILABLE>() && handle.getInfo<CL_DEVICE_COMPILER_AVAILABLE>())
                    devices.push_back(std::move(device));
            }
        } catch (const std::exception&
                     error) {  // a platform without devices throws; one bad driver must not hide the others
            if (facts.devices.empty()) facts.devices.push_back(std::string("none (") + error.what() + ")");
        }
        found.platforms.push_back(std::move(facts));
    }
    std::stable_sort(devices.begin(), devices.end(),
                     [](const Device& a, const Device& b) { return rank(a) < rank(b); });
    std::map<std::string, int> twins;
    for (auto& device : devices) {
        device.index = static_cast<int>(found.devices.size());
        if (const int twin = twins[device.key]++) device.key += " #" + std::to_string(twin + 1);
        found.devices.push_back(std::make_shared<const Device>(std::move(device)));
    }
    return found;
}

std::mutex& discovery_mutex() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace

void set_search_prefixes(std::vector<std::string> list) {
    const std::lock_guard<std::mutex> lock(discovery_mutex());
    prefixes() = std::move(list);
}

const Discovery& discover() {
    static const Discovery* found = nullptr;  // never destroyed: drivers may be gone by the time statics are
    static pid_t owner = 0;
    const std::lock_guard<std::mutex> lock(discovery_mutex());
    if (!found) {
        found = new Discovery(run_discovery());
        owner = getpid();
    }
    if (owner != getpid())
        throw Error(
            "OpenCL was first used in a parent process and does not survive a fork; start workers with "
            "multiprocessing's 'spawn' method");
    return *found;
}

}  // namespace gpuopt
