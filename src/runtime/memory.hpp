// Device memory that kernels take as an argument, and how it is moved to another place while plans hold it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/opencl.hpp"

namespace gpuopt {

class Storage;

// What a kernel's argument may be. All that is below is called by whoever holds the session's lock of runs.
class Memory : public std::enable_shared_from_this<Memory> {
public:
    Memory() = default;
    virtual ~Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // What the argument is set to, anew wherever `version` is another number.
    virtual const cl::Memory& argument() = 0;
    virtual std::uint64_t version() const = 0;
    // The allocation that it is, or is a part of.
    virtual std::shared_ptr<Storage> storage() = 0;
};

// An allocation of its own, which can be moved in three steps: a twin with the same contents is made, changes places
// with it, and is dropped.
class Storage : public Memory {
public:
    std::uint64_t version() const final { return version_; }
    std::shared_ptr<Storage> storage() final { return std::static_pointer_cast<Storage>(shared_from_this()); }

    virtual bool movable() const { return true; }
    // Whether it lives as long as this object: not so where a caller lent it.
    virtual bool kept() const { return true; }
    // Enqueues the copy and appends its events. Throws DeviceMemoryError or OpenCLError; `drop_twin` must follow.
    virtual void make_twin(const cl::CommandQueue& queue, std::vector<cl::Event>& copies) = 0;
    void swap_twin() noexcept {
        exchange();
        ++version_;
    }
    virtual void drop_twin() noexcept = 0;

protected:
    virtual void exchange() noexcept = 0;

private:
    std::uint64_t version_ = 1;
};

}  // namespace gpuopt
