// Host memory in large pages, for the buffers of devices that are the host's own processor.
#pragma once

#include <cstddef>

namespace gpuopt {

// Memory in 2 MiB pages where the system grants them: a matrix read as 81 streams needs 81 translations at a
// time, more than the first-level TLB of a CPU holds of 4 KiB pages, and a first touch faults 512 times less often.
// Fresh memory is zeros. `data` is null where no such memory is to be had.
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

// Large pages that were let go, kept for the next request of the same size: on virtual machines the first touch of
// fresh memory takes a good part of the time of the product that writes it, and most of the time of a copy from a GPU.
// The process keeps at most 4 GiB of them, and no more than a sixteenth of the machine's memory. Their contents are
// left as they were.
LargePages take_pages(std::size_t bytes);
void give_pages(LargePages pages) noexcept;
void drop_pages() noexcept;  // gives all of them back to the system

}  // namespace gpuopt
