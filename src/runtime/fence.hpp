// Host memory between pages that nobody may touch, for checks on devices that are the host's own processor.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace gpuopt {

// `bytes` whole pages between protected regions, each `reach_bytes` wide; [first, first + used) of them is what may be
// used, the rest, zones, holds `pattern`, as the whole does at first. An access to a protected region is noted, and
// then allowed, so that a kernel that strays runs to its end and a check can tell. `data` is null where no such memory
// is to be had.
class Fence {
public:
    Fence(std::size_t bytes, std::size_t first, std::size_t used, unsigned char pattern);
    ~Fence();
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;

    void* data() const { return data_; }  // at the beginning of a page
    bool intact() const;                  // nothing touched the regions, nor wrote to the zones

    static std::size_t round_up(std::size_t bytes);  // to whole pages
    static constexpr std::size_t reach_bytes = std::size_t(16) << 20;

private:
    std::size_t bytes_, first_, used_;
    unsigned char pattern_;
    unsigned char* data_ = nullptr;
    int slot_ = -1;
};

// While it is open, all buffers that its thread makes for CPU devices are fenced: inputs, outputs and what a plan works
// in. It keeps their memory, and tells of all of them. An access where nothing is mapped, which would end the process,
// is allowed and told, too; it is told by all that are open, for nobody knows whose it was.
class Fences {
public:
    static void open(std::shared_ptr<Fences> fences);
    static void close() noexcept;          // the one that was opened last
    static std::shared_ptr<Fences> now();  // the same; nullptr where none is open

    void add(std::shared_ptr<const Fence> fence);
    bool intact() const;

private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<const Fence>> all_;
    std::shared_ptr<Fences> outer_;
    unsigned astray_before_ = 0;
};

}  // namespace gpuopt
