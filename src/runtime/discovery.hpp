// Finds every OpenCL device, once, at the first use: the system loader's, plus runtimes installed into the running
// Python's prefix.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.hpp"

namespace gpuopt {

// A vendor (.icd) file that was looked at, and the outcome; `gpuopt doctor` shows these.
struct VendorFile {
    std::string path, library, status, prefix;  // prefix is "" for the system's own
};

struct LeftOutDevice {
    std::string name, reason;
};

struct PlatformFacts {
    std::string name, vendor, version;
    std::vector<std::string> devices;  // names of those that can be used
    std::vector<LeftOutDevice> left_out;
    std::string error;  // why the platform was not asked to the end, "" where it was
};

struct Discovery {
    std::string loader_path, loader_version;
    std::string user_setting_name,
        user_setting_value;  // OCL_ICD_VENDORS or OCL_ICD_FILENAMES of the user, which always wins
    std::vector<VendorFile> vendor_files;
    std::vector<PlatformFacts> platforms;
    std::vector<std::shared_ptr<const Device>> devices;
    bool prefix_dir_used = false;
    std::string prefix_dir_error;  // why the prefixes' runtimes could not be shown to the loader
    std::string error;
};

// Prefixes whose etc/OpenCL/vendors count; only before the first use, later calls change nothing.
void set_search_prefixes(std::vector<std::string> prefixes);

// Throws Error in a process forked after the first use: drivers' threads do not survive a fork.
const Discovery& discover();

}  // namespace gpuopt
