#include "runtime/kernel_source.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "runtime/error.hpp"
#include "runtime/sha256.hpp"

namespace gpuopt {
namespace {

namespace fs = std::filesystem;

fs::path overlay() {
    const char* directory = std::getenv("GPUOPT_KERNEL_DIR");
    if (!directory || !*directory) return {};
    std::error_code none;
    constexpr const char* cure = "; give the folder kernels/ of a copy of the code, or unset it";
    if (!fs::is_directory(directory, none))
        throw Error(std::string("GPUOPT_KERNEL_DIR: there is no folder ") + directory + cure);
    const auto& own = embedded_kernels();
    const auto has_folder = [&](const auto& kernel) {
        return fs::is_directory(fs::path(directory) / *fs::path(kernel.first).begin(), none);
    };
    if (std::none_of(own.begin(), own.end(), has_folder))
        throw Error(std::string("GPUOPT_KERNEL_DIR: no folder of kernels, such as gemm/, lies in ") + directory + cure);
    return directory;
}

// A path below kernels/, in one way of writing it: nothing above the folder, and no end of text within.
bool is_below(const std::string& path) {
    if (path.empty() || path.find('\0') != std::string::npos) return false;
    const fs::path parts(path);
    return parts.is_relative() && std::none_of(parts.begin(), parts.end(), [](const fs::path& part) {
               return part.empty() || part == "." || part == "..";
           });
}

bool read_text(const std::string& path, std::string& text) {
    if (!is_below(path)) return false;
    std::error_code none;
    const auto edited = overlay();
    if (!edited.empty() && fs::is_regular_file(edited / path, none)) {
        std::ifstream in(edited / path, std::ios::binary);
        if (in) {
            text.assign(std::istreambuf_iterator<char>(in), {});
            return true;
        }
    }
    const auto found = embedded_kernels().find(path);
    if (found == embedded_kernels().end()) return false;
    text = found->second;
    return true;
}

// The name between the quotes of `#include "name"`, or "".
std::string included_name(const std::string& line) {
    const auto start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line.compare(start, 8, "#include") != 0) return "";
    const auto open = line.find('"', start), close = line.find('"', open + 1);
    return open == std::string::npos || close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

void expand(const std::string& path, const std::string& from, std::set<std::string>& open, std::set<std::string>& done,
            std::string& out) {
    if (done.count(path)) return;  // every include is included once
    if (!open.insert(path).second) throw Error("kernel file " + path + " includes itself");
    std::string text;
    if (!read_text(path, text))
        throw Error("kernel file " + path.substr(0, path.find('\0')) +
                    (from.empty() ? " does not exist" : " (included by " + from + ") does not exist") +
                    "; give its path below kernels/, e.g. \"common/real.cl\"");
    out += "#line 1 \"" + path + "\"\n";
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const auto name = included_name(line);
        if (name.empty()) {
            out += line + "\n";
        } else {
            expand(name, path, open, done, out);
            out += "#line " + std::to_string(number + 1) + " \"" + path + "\"\n";
        }
    }
    open.erase(path);
    done.insert(path);
}

}  // namespace

KernelSource load_kernel(const std::string& path) {
    KernelSource source;
    source.path = path;
    std::set<std::string> open, done;
    expand(path, "", open, done, source.expanded);
    source.sha256 = sha256_hex(source.expanded);
    return source;
}

bool kernels_may_change() { return !overlay().empty(); }

std::vector<std::string> kernel_paths() {
    std::set<std::string> paths;
    for (const auto& [path, text] : embedded_kernels()) paths.insert(path);
    const auto edited = overlay();
    if (edited.empty()) return {paths.begin(), paths.end()};
    std::error_code ignored;  // a folder below it that may not be read has none, as in `read_text`
    for (auto it = fs::recursive_directory_iterator(edited, fs::directory_options::skip_permission_denied, ignored);
         !ignored && it != fs::recursive_directory_iterator(); it.increment(ignored))
        if (it->path().extension() == ".cl") paths.insert(it->path().lexically_relative(edited).generic_string());
    return {paths.begin(), paths.end()};
}

}  // namespace gpuopt
