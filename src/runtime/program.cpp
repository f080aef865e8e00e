#include "runtime/program.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "runtime/compiler_settings.hpp"
#include "runtime/pocl_cache.hpp"
#include "runtime/private_folder.hpp"
#include "runtime/sha256.hpp"

namespace gpuopt {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct CachedBinary {
    std::string log, binary;
};

constexpr const char* magic = "gpuopt program 1\n";

std::string file_of(const std::string& key) { return key + ".bin"; }

// File: magic, key, sha256 of the rest, then "<bytes of log>\n", log, binary. Anything that does not check out counts
// as absent.
std::optional<CachedBinary> read_cached(const std::string& key) {
    const auto held = PrivateFolder("programs", false).read(file_of(key));
    if (!held) return std::nullopt;
    const auto& text = *held;
    const std::string head = magic + key + "\n";
    if (text.size() < head.size() + 65 || text.compare(0, head.size(), head) != 0) return std::nullopt;
    const auto digest = text.substr(head.size(), 64);
    const auto rest = text.substr(head.size() + 65);
    if (sha256_hex(rest) != digest) return std::nullopt;
    const auto end = rest.find('\n');
    const auto log_bytes = std::strtoull(rest.c_str(), nullptr, 10);
    if (end == std::string::npos || log_bytes > rest.size() - end - 1) return std::nullopt;
    return CachedBinary{rest.substr(end + 1, log_bytes), rest.substr(end + 1 + log_bytes)};
}

// A reader sees a whole file or none, and of two writers either one's file is right. A cache that cannot be written
// (full disk, no right, another user's) costs time, never an answer.
void write_cached(const std::string& key, const CachedBinary& entry) {
    const auto rest = std::to_string(entry.log.size()) + "\n" + entry.log + entry.binary;
    PrivateFolder("programs", true).replace(file_of(key), magic + key + "\n" + sha256_hex(rest) + "\n" + rest);
}

bool is_path_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' || c == '-';
}

// Where line `number` of the expanded text came from, by its #line directives.
std::pair<std::string, int> origin_of(const std::string& expanded, int number) {
    std::pair<std::string, int> origin{"", 0};
    std::istringstream lines(expanded);
    int at = 0;
    for (std::string line; at < number && std::getline(lines, line);) {
        ++at;
        ++origin.second;
        if (line.compare(0, 6, "#line ") != 0) continue;
        const auto open = line.find('"'), close = line.rfind('"');
        if (close > open) origin.first = line.substr(open + 1, close - open - 1);  // else it stays in its file
        origin.second = std::atoi(line.c_str() + 6) - 1;
    }
    return origin;
}

// "dir/file.cl", then perhaps a quote, then ':' or '(' and a line number; {"", 0} when this line of the log has no
// place. NVIDIA's compiler passes over #line: it calls every file "<kernel>" and counts the lines of the expanded text.
std::pair<std::string, int> place_in(const std::string& line, const std::string& expanded) {
    for (const std::string& ending : {std::string(".cl"), std::string("<kernel>")})
        for (auto at = line.find(ending); at != std::string::npos; at = line.find(ending, at + 1)) {
            const auto end = at + ending.size();
            auto after = end;
            if (after < line.size() && line[after] == '"') ++after;
            if (after + 1 >= line.size() || (line[after] != ':' && line[after] != '(')) continue;
            if (!std::isdigit(static_cast<unsigned char>(line[after + 1]))) continue;
            auto start = at;
            while (start > 0 && is_path_character(line[start - 1])) --start;
            const int number = std::atoi(line.c_str() + after + 1);
            if (ending != ".cl") return origin_of(expanded, number);
            return {line.substr(start, end - start), number};
        }
    return {"", 0};
}

// The place of the first error, else the first place at all.
// No std::regex: where libstdc++ is linked in statically beside another copy, its locale facets crash (seen
// with GCC 13).
std::pair<std::string, int> first_error(const std::string& log, const std::string& expanded) {
    std::pair<std::string, int> first{"", 0};
    for (std::size_t begin = 0; begin < log.size();) {
        const auto end = std::min(log.find('\n', begin), log.size());
        const auto line = log.substr(begin, end - begin);
        auto place = place_in(line, expanded);
        if (place.second > 0 && line.find("error") != std::string::npos) return place;
        if (first.second == 0) first = place;
        begin = end + 1;
    }
    return first;
}

// At most `bytes` of UTF-8 text, cut between two characters.
std::string beginning(const std::string& text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
    return text.substr(0, bytes);
}

[[noreturn]] void throw_build_error(const std::string& path, const std::string& device, const std::string& log,
                                    const std::string& expanded) {
    auto [file, line] = first_error(log, expanded);
    if (file.empty()) file = path;
    const auto where = line > 0 ? file + ":" + std::to_string(line) : file;
    throw KernelBuildError("kernel " + where + " does not build on " + device + ":\n" + beginning(log, 600), log, file,
                           line);
}

// NVIDIA's ptxas in the log: "Used 24 registers", "0 bytes spill stores".
void read_statistics(Program& program) {
    const auto& log = program.log;
    if (const auto used = log.find("Used ");
        used != std::string::npos && log.find(" registers", used) != std::string::npos)
        program.registers = std::atoi(log.c_str() + used + 5);
    if (const auto spill = log.find(" bytes spill stores"); spill != std::string::npos) {
        auto digits = spill;
        while (digits > 0 && std::isdigit(static_cast<unsigned char>(log[digits - 1]))) --digits;
        program.spill_bytes = std::atoi(log.c_str() + digits);
    }
}

// A signal, whoever hears it, makes LLVM within PoCL remove its temporary files: the same build succeeds afterwards.
bool lost_its_files(const std::string& log) { return log.find("unable to rename temporary") != std::string::npos; }

}  // namespace

std::shared_ptr<Program> ProgramCache::compile(const KernelSource& source, const std::string& options) const {
    for (int again = 3;; --again) {
        auto program = std::make_shared<Program>();
        program->handle = checked([&] { return cl::Program(context_, source.expanded, false); });
        try {
            program->handle.build({device_->handle}, options.c_str());
        } catch (const cl::Error& error) {
            std::string log;
            try {
                log = program->handle.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_->handle);
            } catch (const cl::Error&) {
                log = "(the driver gives no log)";
            }
            if (again > 0 && lost_its_files(log)) continue;
            if (error.err() != CL_BUILD_PROGRAM_FAILURE) log = opencl_error_name(error.err()) + "\n" + log;
            throw_build_error(source.path, device_->name, log, source.expanded);
        }
        program->log = checked([&] { return program->handle.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_->handle); });
        return program;
    }
}

std::shared_ptr<Program> ProgramCache::from_binary(const std::string& path, const std::string& binary,
                                                   const std::string& options) const {
    auto program = std::make_shared<Program>();
    try {
        const cl::Program::Binaries binaries{std::vector<unsigned char>(binary.begin(), binary.end())};
        program->handle = cl::Program(context_, {device_->handle}, binaries);
        program->handle.build({device_->handle}, options.c_str());
    } catch (const cl::Error& error) {
        throw_build_error(path, device_->name, "binary refused: " + opencl_error_name(error.err()), "");
    }
    return program;
}

std::shared_ptr<const Program> ProgramCache::build(const KernelSource& source, const std::string& options) {
    const auto key = sha256_hex(source.expanded + '\0' + options + '\0' + device_->key + '\0' + device_->version +
                                '\0' + device_->driver + '\0' + compiler_settings());
    if (const auto found = built_.find(key); found != built_.end()) return found->second;

    require_pocl_cache_space(*device_);
    const auto start = Clock::now();
    std::shared_ptr<Program> program;
    // A binary does not tell what its kernels' arguments are called (Intel's CPU runtime).
    const bool kept = options.find("-cl-kernel-arg-info") == std::string::npos;
    if (auto cached = kept ? read_cached(key) : std::nullopt) {
        try {
            program = from_binary(source.path, cached->binary, options);
            program->log = cached->log;
            program->binary_sha256 = sha256_hex(cached->binary);
            program->from_disk = true;
        } catch (const KernelBuildError&) {
            program.reset();  // a driver that no longer takes its own binary: compile again
        }
    }
    if (!program) {
        program = compile(source, options);
        const auto binaries = checked([&] { return program->handle.getInfo<CL_PROGRAM_BINARIES>(); });
        if (!binaries.empty() && !binaries[0].empty()) {
            const std::string binary(binaries[0].begin(), binaries[0].end());
            program->binary_sha256 = sha256_hex(binary);
            if (kept) write_cached(key, {program->log, binary});
        }
    }
    program->build_ms = ms_since(start);
    program->path = source.path;
    program->source_sha256 = source.sha256;
    auto& text = texts_[source.sha256];
    if (!text) text = std::make_shared<const std::string>(source.expanded);
    program->text = text;
    program->options = options;
    read_statistics(*program);
    return built_[key] = program;
}

}  // namespace gpuopt
