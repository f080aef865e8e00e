#include "runtime/host_memory.hpp"

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

}  // namespace

std::size_t host_free_bytes(const std::string& root) {
    std::uint64_t free = SIZE_MAX;
    if (const auto available = number_behind(fs::path(root) / "proc/meminfo", "MemAvailable:"))
        free = *available * 1024;
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
