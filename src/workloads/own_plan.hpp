// Plans of kernels whose source is a caller's text: no row of a table stands behind them, so all that a row would know
// is given, and checked here against what the driver says of the built kernel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workloads/prepared.hpp"

namespace gpuopt {

// What a kernel's argument is set to: one of the four.
struct OwnArgument {
    std::shared_ptr<Memory> memory{};
    std::vector<unsigned char> value{};  // the bytes of a number or a struct
    std::size_t local_bytes = 0;
    std::shared_ptr<const cl::Sampler> sampler{};
};

// A launch, or what the host does between launches with the first element of a flag: set it to zero, or read it and,
// where it is zero, go on at the step of number `past`.
struct OwnStep {
    enum class Does { launches, clears, asks };
    Does does = Does::launches;
    std::shared_ptr<Buffer> flag{};
    std::size_t flag_bytes = 0, past = 0;
    std::shared_ptr<const Program> program;
    std::string entry_point;
    Launch launch;
    std::vector<OwnArgument> arguments;
};

// What a driver says of a kernel's argument.
struct ArgumentFacts {
    std::string name, type;  // as the source has them; "float*" is a pointer to float
    std::string address;     // "global", "local", "constant", "private"
    bool is_const = false;
    bool is_image = false;
};

// Throws ParameterError for a name that the program has no kernel of, listing those that it has.
cl::Kernel kernel_of(const Program& program, const std::string& entry_point);
std::vector<std::string> entry_points(const Program& program);
// Nothing where the driver tells nothing; the program must be built with -cl-kernel-arg-info.
std::optional<std::vector<ArgumentFacts>> arguments_of(const Program& program, const std::string& entry_point);

// Throws ParameterError for arguments of a wrong number and for a work-group that the kernel is not compiled for,
// naming the kernel; UnsupportedError for what the device does not allow, local memory given by arguments included;
// OpenCLError for an argument that the driver refuses.
std::shared_ptr<Prepared> prepare_own(const std::shared_ptr<Session>& session, const std::vector<OwnStep>& steps,
                                      std::size_t main_step, Work work);

}  // namespace gpuopt
