// The one family of errors. A message names the argument and the fix; Python never parses it, so facts travel as
// fields.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace gpuopt {

class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class NoDeviceError : public Error {
public:
    using Error::Error;
};

// The device, or the variant's own rule, forbids this configuration: in a sweep this is data, not a failure.
class UnsupportedError : public Error {
public:
    enum class Because { device, constraint };
    UnsupportedError(Because because, const std::string& message) : Error(message), because(because) {}
    Because because;
};

class KernelBuildError : public Error {
public:
    KernelBuildError(const std::string& message, std::string log, std::string file, int line)
        : Error(message), log(std::move(log)), file(std::move(file)), line(line) {}
    std::string log;
    std::string file;  // kernel file the first error points to, "" when the log names none
    int line;          // 0 when unknown
};

class OpenCLError : public Error {
public:
    OpenCLError(std::string call, int code, std::string name, const std::string& hint = "")
        : Error(call + " failed: " + name + " (" + std::to_string(code) + ")" + (hint.empty() ? "" : "; " + hint)),
          call(std::move(call)),
          code(code),
          name(std::move(name)) {}
    std::string call;
    int code;
    std::string name;
};

class DeviceMemoryError : public Error {
public:
    using Error::Error;
};

class ArrayError : public Error {
public:
    ArrayError(std::string argument, const std::string& problem, const std::string& fix)
        : Error(argument + ": " + problem + "; " + fix), argument(std::move(argument)) {}
    std::string argument;
};

class ParameterError : public Error {
public:
    ParameterError(std::string argument, const std::string& problem, const std::string& fix)
        : Error(argument + ": " + problem + "; " + fix), argument(std::move(argument)) {}
    std::string argument;
};

std::string opencl_error_name(int code);

// Runs `call` and turns CLHPP's exception into ours; every OpenCL call of the runtime goes through here.
[[noreturn]] void rethrow_opencl(const char* call, int code);

}  // namespace gpuopt
