// Built programs, kept in memory and on disk. The key is everything that decides the binary: expanded source, options,
// device, driver.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/device.hpp"
#include "runtime/kernel_source.hpp"

namespace gpuopt {

struct Program {
    cl::Program handle;
    std::string path, source_sha256, binary_sha256, options, log;
    std::shared_ptr<const std::string> text;  // expanded; programs of one text share it
    double build_ms = 0;                      // what it took here: compilation, or the load of a cached binary
    bool from_disk = false;
    int registers = -1, spill_bytes = -1;  // what the build log says, -1 when it says nothing
};

class ProgramCache {
public:
    ProgramCache(cl::Context context, std::shared_ptr<const Device> device)
        : context_(std::move(context)), device_(std::move(device)) {}

    // Throws KernelBuildError with the log, and the kernel file and line where the log names one. Not thread-safe: the
    // session locks.
    std::shared_ptr<const Program> build(const KernelSource& source, const std::string& options);

private:
    std::shared_ptr<Program> compile(const KernelSource& source, const std::string& options) const;
    std::shared_ptr<Program> from_binary(const std::string& path, const std::string& binary,
                                         const std::string& options) const;

    cl::Context context_;
    std::shared_ptr<const Device> device_;
    std::map<std::string, std::shared_ptr<const Program>> built_;
    std::map<std::string, std::shared_ptr<const std::string>> texts_;  // by their hash
};

}  // namespace gpuopt
