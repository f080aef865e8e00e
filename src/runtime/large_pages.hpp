// Host memory in large pages, for the buffers of devices that are the host's own processor.
#pragma once

#include <cstddef>

namespace gpuopt {

// Zeroed memory, in 2 MiB pages where the system grants them: a matrix read as 81 streams needs 81 translations at a
// time, more than the first-level TLB of a CPU holds of 4 KiB pages, and a first touch faults 512 times less often.
// `data` is null where no such memory is to be had.
class LargePages {
public:
    LargePages() = default;
    explicit LargePages(std::size_t bytes);
    ~LargePages();
    LargePages(const LargePages&) = delete;
    LargePages& operator=(const LargePages&) = delete;
    LargePages(LargePages&& other) noexcept;
    LargePages& operator=(LargePages&& other) noexcept;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    static constexpr std::size_t page_bytes = std::size_t(2) << 20;

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// Large pages that were let go, for those who want as many next: where fresh memory is dear (virtual machines), the
// first touch of a result costs a good part of the product that makes it. Some of it stay with the process, at most 64
// MiB. What they hold is left as it was.
LargePages take_pages(std::size_t bytes);
void give_pages(LargePages pages) noexcept;

}  // namespace gpuopt
