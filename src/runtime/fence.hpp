// Host memory between pages that nobody may touch, for outputs on devices that are the host's own processor.
#pragma once

#include <cstddef>

namespace gpuopt {

// `bytes` that end at a protected region and begin behind another, each `reach_bytes` wide; the beginning is rounded
// down to a page. An access to either region is noted, and then allowed, so that a kernel that strays runs to its end
// and a check can tell. `data` is null where no such memory is to be had.
class Fence {
public:
    Fence() = default;
    explicit Fence(std::size_t bytes);
    ~Fence();
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;
    Fence(Fence&& other) noexcept;
    Fence& operator=(Fence&& other) noexcept;

    void* data() const { return data_; }  // at the beginning of a page
    bool touched() const;                 // whether something strayed

    static std::size_t round_up(std::size_t bytes);  // to whole pages
    static constexpr std::size_t reach_bytes = std::size_t(16) << 20;

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    int slot_ = -1;
};

}  // namespace gpuopt
