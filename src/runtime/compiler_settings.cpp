#include "runtime/compiler_settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace gpuopt {
namespace {

bool is_of_a_driver(std::string_view entry) {
    constexpr std::array<std::string_view, 11> first{"CL_",  "INTEL_", "IGC_", "NEO_",     "POCL_", "CUDA_",
                                                     "AMD_", "GPU_",   "HSA_", "RUSTICL_", "MESA_"};
    const auto name = entry.substr(0, entry.find('='));
    const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
    return std::any_of(first.begin(), first.end(),
                       [name](auto begin) { return name.substr(0, begin.size()) == begin; }) &&
           !has("CACHE") && !has("VISIBLE");  // where programs are kept, and which devices there are
}

std::string present() {
    std::vector<std::string> entries;
    for (char** entry = environ; entry && *entry; ++entry)
        if (is_of_a_driver(*entry)) entries.emplace_back(*entry);
    std::sort(entries.begin(), entries.end());
    std::string all;
    for (const auto& entry : entries) all += entry + '\0';
    return all;
}

}  // namespace

std::string compiler_settings() {
    static const std::string at_first = present();
    return at_first + '\0' + present();
}

}  // namespace gpuopt
