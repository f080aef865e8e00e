#include "runtime/discovery.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "runtime/compiler_settings.hpp"
#include "runtime/fork.hpp"

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

bool is_there(const fs::path& path) {
    std::error_code ignored;  // a folder that may not be looked into holds nothing for us
    return fs::exists(path, ignored);
}

bool can_load(const std::string& library) {
    if (library.find('/') != std::string::npos) return is_there(library);
    // A bare name is resolved by the dynamic linker; asking it is the only honest test.
    if (void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
        dlclose(handle);
        return true;
    }
    return false;
}

// Wheels carry a placeholder path inside their .icd: only its base name is meant, and it lies in the prefix's lib.
std::string library_in_prefix(const fs::path& prefix, const std::string& named) {
    if (fs::path(named).is_absolute() && is_there(named)) return named;
    for (const char* lib : {"lib", "lib64"}) {
        const auto candidate = prefix / lib / fs::path(named).filename();
        if (is_there(candidate)) return candidate.string();
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
// directory repeats the system's files and adds the prefix's. Khronos's loaders before 2020, which drivers still bring,
// know OCL_ICD_FILENAMES (libraries beside the system's) alone; later ones know both, and open no library twice. Both
// are named to the loader for its one read only and then taken away again: child processes inherit nothing.
class PrivateVendorDir {
public:
    explicit PrivateVendorDir(const Discovery& found) {
        std::error_code failed;
        const auto temporary = fs::temp_directory_path(failed);
        if (failed) {
            error_ = "no directory for temporary files; set TMPDIR to one that exists";
            return;
        }
        auto pattern = (temporary / "gpuopt-icd-XXXXXX").string();
        if (!mkdtemp(pattern.data())) {
            error_ = "no directory can be made in " + temporary.string() + ": " + std::strerror(errno);
            return;
        }
        directory_ = pattern;
        int count = 0;
        std::string libraries;
        for (const auto& file : found.vendor_files)
            if (file.status == "used" && error_.empty()) {
                const auto copy = directory_ / (std::to_string(count++) + ".icd");
                std::ofstream out(copy);
                out << file.library << "\n";
                if (!file.prefix.empty() && file.library.find(':') == std::string::npos)
                    libraries += (libraries.empty() ? "" : ":") + file.library;
                out.close();  // a full disk may show only here
                if (!out) error_ = copy.string() + " cannot be written: " + std::strerror(errno);
            }
        if (!error_.empty()) return;
        setenv("OCL_ICD_VENDORS", directory_.c_str(), 1);
        setenv("OCL_ICD_FILENAMES", libraries.c_str(), 1);
    }
    ~PrivateVendorDir() {
        if (error_.empty())
            for (const char* name : {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"}) unsetenv(name);
        if (directory_.empty()) return;
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }
    PrivateVendorDir(const PrivateVendorDir&) = delete;
    PrivateVendorDir& operator=(const PrivateVendorDir&) = delete;
    const std::string& error() const { return error_; }  // "" when the loader is shown the directory

private:
    fs::path directory_;
    std::string error_;
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

std::string canonical_or_same(const fs::path& path) {
    std::error_code failed;
    const auto canonical = fs::weakly_canonical(path, failed);
    return (failed ? path : canonical).string();
}

int rank(const Device& device) {
    // Two CPU runtimes on one machine: Intel's compiler vectorises across work-items, PoCL 3.1's hardly (11x on scalar
    // all-pairs code, 2-core AVX-512 CPU, 2026-11), so it comes first.
    const bool pocl = device.platform.find("Portable Computing Language") != std::string::npos;
    return 2 * static_cast<int>(device.type) + (pocl ? 1 : 0);
}

// Why a device that was described cannot be used, or "".
std::string lack_of(const Device& device) {
    if (!checked([&] { return device.handle.getInfo<CL_DEVICE_AVAILABLE>(); }))
        return "its driver calls it unavailable";
    if (!checked([&] { return device.handle.getInfo<CL_DEVICE_COMPILER_AVAILABLE>(); })) return "it has no compiler";
    return "";
}

// One bad device must not hide its neighbours, one bad driver no other platform.
PlatformFacts look_at_platform(const cl::Platform& platform, std::vector<Device>& devices) {
    PlatformFacts facts;
    std::vector<cl::Device> handles;
    try {
        checked([&] {
            facts.name = platform.getInfo<CL_PLATFORM_NAME>();
            facts.vendor = platform.getInfo<CL_PLATFORM_VENDOR>();
            facts.version = platform.getInfo<CL_PLATFORM_VERSION>();
        });
        if (is_fpga_emulator(facts.name)) facts.error = "left out: an FPGA emulator";
        else checked([&] { return platform.getDevices(CL_DEVICE_TYPE_ALL, &handles); });
    } catch (const std::exception& error) {
        facts.error = error.what();
    }
    for (const auto& handle : handles) {
        std::string name = "a device without a name", reason;
        try {
            name = device_name(handle);
            auto device = describe(handle);
            reason = lack_of(device);
            if (reason.empty()) {
                facts.devices.push_back(name);
                devices.push_back(std::move(device));
            }
        } catch (const std::exception& error) {
            reason = error.what();
        }
        if (!reason.empty()) facts.left_out.push_back({name, reason});
    }
    return facts;
}

Discovery run_discovery() {
    Discovery found;
    Dl_info loader;
    if (dladdr(reinterpret_cast<void*>(&clGetPlatformIDs), &loader) && loader.dli_fname)
        found.loader_path = canonical_or_same(loader.dli_fname);
    for (const char* name : {"OCL_ICD_FILENAMES", "OCL_ICD_VENDORS"})
        if (const char* value = getenv(name)) found.user_setting_name = name, found.user_setting_value = value;

    look_at_vendor_files(found);
    std::vector<cl::Platform> platforms;
    {
        const bool prefix_adds =
            std::any_of(found.vendor_files.begin(), found.vendor_files.end(),
                        [](const VendorFile& file) { return !file.prefix.empty() && file.status == "used"; });
        std::unique_ptr<PrivateVendorDir> extra;
        if (found.user_setting_name.empty() && prefix_adds) {
            extra = std::make_unique<PrivateVendorDir>(found);
            found.prefix_dir_error = extra->error();
            found.prefix_dir_used = found.prefix_dir_error.empty();
            for (auto& file : found.vendor_files)
                if (!found.prefix_dir_used && !file.prefix.empty() && file.status == "used")
                    file.status = "left out: the loader could not be shown it";
        }
        compiler_settings();  // some drivers read theirs now
        try {
            cl::Platform::get(&platforms);
        } catch (const cl::Error& error) {
            found.error = opencl_error_name(error.err());
        }
    }

    for (auto& file : found.vendor_files)
        if (found.prefix_dir_used && !file.prefix.empty() && file.status == "used") {
            if (void* library = dlopen(file.library.c_str(), RTLD_LAZY | RTLD_NOLOAD)) dlclose(library);
            else file.status = "left out: the loader did not keep it (it does not load, or has no platform)";
        }
    found.loader_version = loader_version(found.loader_path);

    std::vector<Device> devices;
    for (const auto& platform : platforms) found.platforms.push_back(look_at_platform(platform, devices));
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
    static std::atomic<pid_t> owner{0};
    // Before the lock: a forked child may have it held by a thread that it does not have.
    if (owner != 0 && owner != getpid())
        throw Error(
            "OpenCL was first used in a parent process and does not survive a fork; start workers with "
            "multiprocessing's 'spawn' method");
    const std::lock_guard<std::mutex> lock(discovery_mutex());
    if (!found) {
        owner = getpid();
        mark_opencl_used();
        found = new Discovery(run_discovery());
    }
    return *found;
}

}  // namespace gpuopt
