#include "runtime/pocl_cache.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "runtime/error.hpp"

namespace gpuopt {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t least_bytes = 16u << 20;  // a kernel takes some 0.2 MB for each size of its work-groups

// As PoCL reads the environment, once.
const fs::path& cache_place() {
    static const fs::path place = [] {
        const auto set = [](const char* name) {
            const char* const value = std::getenv(name);
            return fs::path(value ? value : "");
        };
        if (auto own = set("POCL_CACHE_DIR"); !own.empty()) return own;
        if (const auto xdg = set("XDG_CACHE_HOME"); !xdg.empty()) return xdg / "pocl" / "kcache";
        const auto home = set("HOME");
        return home.empty() ? fs::path("/tmp/pocl/kcache") : home / ".cache" / "pocl" / "kcache";
    }();
    return place;
}

}  // namespace

void require_pocl_cache_space(const Device& device) {
    if (device.platform != "Portable Computing Language") return;
    std::error_code failed;
    const auto space = fs::space(cache_place(), failed);
    if (failed || space.available >= least_bytes) return;
    throw Error("PoCL's cache " + cache_place().string() + " has " + std::to_string(space.available >> 10) +
                " KiB left, and PoCL ends the process where it cannot write there; free some space, or set "
                "POCL_CACHE_DIR to a folder with more than " +
                std::to_string(least_bytes >> 20) + " MiB");
}

}  // namespace gpuopt
