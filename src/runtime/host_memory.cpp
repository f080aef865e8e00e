#include "runtime/host_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace gpuopt {
namespace {

namespace fs = std::filesystem;

// The number behind a name at the beginning of a line.
std::optional<std::uint64_t> number_behind(const fs::path& file, const std::string& name) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.compare(0, name.size(), name) == 0) return std::strtoull(line.c_str() + name.size(), nullptr, 10);
    return std::nullopt;
}

// Of a file that holds a number alone: "max" is none.
std::optional<std::uint64_t> number_in(const fs::path& file) {
    std::ifstream in(file);
    std::uint64_t number = 0;
    if (in >> number) return number;
    return std::nullopt;
}

// The folders of the groups that may limit memory, of version 1 or 2, and of those above them.
std::vector<fs::path> groups(const fs::path& root) {
    const auto mounts = root / "sys/fs/cgroup";
    std::vector<fs::path> found;
    std::ifstream in(root / "proc/self/cgroup");
    for (std::string line; std::getline(in, line);) {
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const auto controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
        const auto below = line.substr(std::min(line.size(), line.find_first_not_of('/', second + 1)));
        for (const auto* mount :
             {controllers.empty() ? "" : controllers.c_str(), controllers.empty() ? "unified" : "memory"})
            for (auto at = mounts / mount / below; at != root && at.has_relative_path(); at = at.parent_path())
                found.push_back(at);
    }
    return found;
}

// Pages of files, and what the system knows of them, count as used, and are given up where memory is short.
std::uint64_t pages_of_files(const fs::path& group) {
    std::uint64_t sum = 0;
    for (const std::string name : {"inactive_file ", "active_file ", "slab_reclaimable "}) {
        const auto own = number_behind(group / "memory.stat", name);
        const auto with_children = number_behind(group / "memory.stat", "total_" + name);  // version 1
        sum += with_children.value_or(own.value_or(0));
    }
    return sum;
}

std::uint64_t limit_of(decltype(RLIMIT_AS) resource) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    return limit.rlim_cur;
}

// What the process's own limits of addresses and of data leave, as `ulimit -v` sets one. Some is kept for drivers,
// which do not look whether they got what they take beside arrays.
std::uint64_t left_of_limits(const fs::path& root) {
    const auto addresses = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
    if (addresses == UINT64_MAX && data == UINT64_MAX) return UINT64_MAX;
    std::uint64_t size = 0, of_data = 0, other = 0;
    std::ifstream in(root / "proc/self/statm");  // in pages: all, resident, shared, text, lib, data
    if (!(in >> size >> other >> other >> other >> other >> of_data)) return UINT64_MAX;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    constexpr auto kept = std::uint64_t(64) << 20;
    const auto left = [&](std::uint64_t limit, std::uint64_t pages) {
        return limit == UINT64_MAX ? limit : limit - std::min(limit, pages * page + kept);
    };
    return std::min(left(addresses, size), left(data, of_data));
}

}  // namespace

bool process_is_limited() { return limit_of(RLIMIT_AS) != UINT64_MAX || limit_of(RLIMIT_DATA) != UINT64_MAX; }

std::size_t host_free_bytes(const std::string& root) {
    std::uint64_t free = SIZE_MAX;
    if (const auto available = number_behind(fs::path(root) / "proc/meminfo", "MemAvailable:"))
        free = *available * 1024;
    free = std::min(free, left_of_limits(root));
    constexpr auto no_limit = std::uint64_t(1) << 60;  // version 1 says 2^63 less a page for none
    for (const auto& group : groups(root))
        for (const auto& [limit, use] :
             {std::pair("memory.max", "memory.current"), std::pair("memory.limit_in_bytes", "memory.usage_in_bytes")}) {
            const auto most = number_in(group / limit), used = number_in(group / use);
            if (!most || *most == 0 || *most >= no_limit || !used) continue;
            const auto held = *used - std::min(*used, pages_of_files(group));
            free = std::min(free, *most - std::min(*most, held));
        }
    return free;
}

}  // namespace gpuopt
