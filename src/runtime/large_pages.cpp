#include "runtime/large_pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "runtime/fork.hpp"

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

namespace {

class KeptPages {
public:
    KeptPages() { blocks_.reserve(most_blocks); }  // giving back must not throw
    LargePages take(std::size_t bytes) {
        {
            const std::lock_guard<ForkSafeMutex> lock(mutex_);
            const auto fits = [&](const LargePages& block) {
                return block.bytes() >= bytes && block.bytes() - bytes < LargePages::page_bytes;
            };
            const auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
            if (found != blocks_.end()) {
                auto block = std::move(*found);
                blocks_.erase(found);
                return block;
            }
        }
        return LargePages(bytes);
    }
    void give(LargePages block) noexcept {
        if (!block.data() || block.bytes() > most_bytes_) return;
        const std::lock_guard<ForkSafeMutex> lock(mutex_);
        const auto all = [&] {
            return std::accumulate(blocks_.begin(), blocks_.end(), block.bytes(),
                                   [](std::size_t sum, const LargePages& kept) { return sum + kept.bytes(); });
        };
        while (blocks_.size() == most_blocks || all() > most_bytes_) blocks_.erase(blocks_.begin());
        blocks_.push_back(std::move(block));
    }
    void drop() noexcept {
        const std::lock_guard<ForkSafeMutex> lock(mutex_);
        blocks_.clear();
    }

private:
    static std::size_t memory_share() {
        const auto pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
        return pages > 0 && bytes > 0 ? std::size_t(pages) / 16 * std::size_t(bytes) : std::size_t(64) << 20;
    }
    static constexpr std::size_t most_blocks = 8;
    const std::size_t most_bytes_ = std::min(std::size_t(4) << 30, memory_share());  // of all

    ForkSafeMutex mutex_;
    std::vector<LargePages> blocks_;
};

KeptPages& kept_pages() {
    static auto* const pages = new KeptPages;  // arrays may outlive everything else
    return *pages;
}

}  // namespace

LargePages take_pages(std::size_t bytes) { return kept_pages().take(bytes); }
void give_pages(LargePages pages) noexcept { kept_pages().give(std::move(pages)); }
void drop_pages() noexcept { kept_pages().drop(); }

}  // namespace gpuopt
