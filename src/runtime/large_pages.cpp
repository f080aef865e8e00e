#include "runtime/large_pages.hpp"

#include <cstdint>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gpuopt {

LargePages::LargePages(std::size_t bytes) {
#if defined(__linux__)
    if (bytes > SIZE_MAX - 2 * page_bytes) return;
    const auto wanted = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    // One page more than needed, so that an aligned part of the size wanted lies in it; the rest goes back.
    void* const found = mmap(nullptr, wanted + page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return;
    auto* const begin = static_cast<unsigned char*>(found);
    const auto before = (page_bytes - reinterpret_cast<std::uintptr_t>(begin) % page_bytes) % page_bytes;
    if (before > 0) munmap(begin, before);
    if (before < page_bytes) munmap(begin + before + wanted, page_bytes - before);
    data_ = begin + before;
    bytes_ = wanted;
    madvise(data_, bytes_, MADV_HUGEPAGE);  // advice: small pages do as well
#else
    static_cast<void>(bytes);
#endif
}

LargePages::~LargePages() {
#if defined(__linux__)
    if (data_) munmap(data_, bytes_);
#endif
}

LargePages::LargePages(LargePages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

LargePages& LargePages::operator=(LargePages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace gpuopt
