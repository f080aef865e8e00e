#include "runtime/fence.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

#if defined(__linux__)
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace gpuopt {

#if defined(__linux__)
namespace {

// What the signal's handler looks at: no lock may be taken there.
struct Slot {
    std::atomic<bool> taken{false}, touched{false};
    std::atomic<std::uintptr_t> begin{0}, end{0};  // of the whole mapping, the protected regions included
};
std::array<Slot, 1024> slots;
struct sigaction previous;

// Accesses where nothing is mapped at all, as by an index that was read past an input's end: while fences are open, a
// page is put there.
constexpr std::size_t most_pages = 4096;
constexpr std::uintptr_t lowest = 1 << 20;  // below, a pointer was null
std::array<std::atomic<std::uintptr_t>, most_pages> pages;
std::atomic<std::size_t> page_count{0};
std::atomic<unsigned> astray{0};
std::atomic<int> open_fences{0};
std::atomic<std::uintptr_t> passed_on{0};  // the last place whose fault was another handler's
std::atomic<int> times_passed_on{0};

// Fences lie side by side in the middle of the addresses a process may have. Nothing else is within some 10 TiB, so
// that an access that far beside one is seen, and stays among the addresses there are: a fault beyond these names no
// place, cannot be allowed, and ends the process. A system with fewer addresses, and a sanitizer, give others.
static_assert(sizeof(void*) == 8);
constexpr std::uintptr_t middle = std::uintptr_t(1) << 46, span = std::uintptr_t(1) << 43;
std::atomic<std::uintptr_t> handed_out{0};

void* reserve(std::size_t bytes) {
    const auto at = middle + handed_out.fetch_add(bytes) % span;
    return mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

bool put_page(std::uintptr_t at) {
    if (open_fences == 0 || at < lowest) return false;
    const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), begin = at - at % bytes;
    const auto number = page_count++;
    if (number >= most_pages) return false;
    ++astray;
    pages[number] = begin;
    void* const wanted = reinterpret_cast<void*>(begin);
    constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (mmap(wanted, bytes, PROT_READ | PROT_WRITE, kind, -1, 0) == wanted) return true;
    pages[number] = 0;
    return std::find(pages.begin(), pages.end(), begin) != pages.end();  // another thread was first
}

bool allowed(std::uintptr_t at) {
    for (auto& slot : slots) {
        const auto begin = slot.begin.load(), end = slot.end.load();
        if (at < begin || at >= end) continue;
        slot.touched = true;
        if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0) return true;
    }
    return put_page(at);
}

void on_fault(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const bool on = allowed(at);
    errno = error;
    if (on) return;
    // One that was there before may have been put back by what it calls: no fault goes round for ever.
    if (passed_on.exchange(at) != at) times_passed_on = 0;
    if (++times_passed_on > 3) {
        ::signal(signal, SIG_DFL);
        return;
    }
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction)
        return previous.sa_sigaction(signal, info, context);
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
    sigaction(signal, &previous, nullptr);  // the access faults again, and ends the process as it would have
}

// Each time anew: compilers within drivers, and Python, put handlers of their own there, and take them away with what
// came later.
bool listen() {
    static auto& mutex = *new std::mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    struct sigaction now {
    }, ours{};
    if (sigaction(SIGSEGV, nullptr, &now) != 0) return false;
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_fault) return true;
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    previous = now;
    return sigaction(SIGSEGV, &ours, nullptr) == 0;
}

// The pages are taken away with the last of the fences: by then their kernels have ended.
void count_open(int more) {
    if ((open_fences += more) > 0) return;
    const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto count = std::min(page_count.load(), most_pages);
    for (std::size_t i = 0; i < count; ++i)
        if (const auto begin = pages[i].exchange(0)) munmap(reinterpret_cast<void*>(begin), bytes);
    page_count = 0;
}

unsigned pages_astray() { return astray; }

int take_slot() {
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (bool expected = false; slots[i].taken.compare_exchange_strong(expected, true)) return static_cast<int>(i);
    return -1;
}

}  // namespace

std::size_t Fence::round_up(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

Fence::Fence(std::size_t bytes, std::size_t first, std::size_t used, unsigned char pattern)
    : bytes_(bytes), first_(first), used_(used), pattern_(pattern) {
    if (bytes > SIZE_MAX / 2 || !listen()) return;
    const auto slot = take_slot();
    if (slot < 0) return;
    auto& held = slots[static_cast<std::size_t>(slot)];
    const auto whole = bytes_ + 2 * reach_bytes;
    void* const found = reserve(whole);
    auto* const begin = static_cast<unsigned char*>(found);
    if (found == MAP_FAILED || mprotect(begin + reach_bytes, bytes_, PROT_READ | PROT_WRITE) != 0) {
        if (found != MAP_FAILED) munmap(found, whole);
        held.taken = false;
        return;
    }
    held.touched = false;
    held.begin = reinterpret_cast<std::uintptr_t>(begin);
    held.end = reinterpret_cast<std::uintptr_t>(begin) + whole;
    data_ = begin + reach_bytes;
    slot_ = slot;
    std::memset(data_, pattern_, bytes_);
}

Fence::~Fence() {
    if (!data_) return;
    auto& held = slots[static_cast<std::size_t>(slot_)];
    held.begin = held.end = 0;
    munmap(data_ - reach_bytes, bytes_ + 2 * reach_bytes);
    held.taken = false;
}

bool Fence::intact() const {
    if (!data_) return true;
    const auto untouched = [&](unsigned char byte) { return byte == pattern_; };
    return !slots[static_cast<std::size_t>(slot_)].touched && std::all_of(data_, data_ + first_, untouched) &&
           std::all_of(data_ + first_ + used_, data_ + bytes_, untouched);
}
#else
namespace {
void count_open(int more) { static_cast<void>(more); }
unsigned pages_astray() { return 0; }
}  // namespace

std::size_t Fence::round_up(std::size_t bytes) { return bytes; }
Fence::Fence(std::size_t bytes, std::size_t first, std::size_t used, unsigned char pattern)
    : bytes_(bytes), first_(first), used_(used), pattern_(pattern) {}
Fence::~Fence() = default;
bool Fence::intact() const { return true; }
#endif

namespace {

thread_local std::shared_ptr<Fences> opened;

}  // namespace

void Fences::open(std::shared_ptr<Fences> fences) {
    count_open(1);
    fences->astray_before_ = pages_astray();
    fences->outer_ = std::move(opened);
    opened = std::move(fences);
}

void Fences::close() noexcept {
    if (!opened) return;
    opened = std::exchange(opened->outer_, nullptr);
    count_open(-1);
}

std::shared_ptr<Fences> Fences::now() { return opened; }

void Fences::add(std::shared_ptr<const Fence> fence) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.push_back(std::move(fence));
}

bool Fences::intact() const {
    if (pages_astray() != astray_before_) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::all_of(all_.begin(), all_.end(), [](const auto& fence) { return fence->intact(); });
}

}  // namespace gpuopt
