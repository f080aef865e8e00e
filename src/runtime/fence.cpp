#include "runtime/fence.hpp"

#include <array>
#include <atomic>
#include <cstdint>
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
std::array<Slot, 256> slots;
struct sigaction previous;

void on_fault(int signal, siginfo_t* info, void* context) {
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (auto& slot : slots) {
        const auto begin = slot.begin.load(), end = slot.end.load();
        if (at < begin || at >= end) continue;
        slot.touched = true;
        if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0) return;
    }
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction)
        return previous.sa_sigaction(signal, info, context);
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
    sigaction(signal, &previous, nullptr);  // the access faults again, and ends the process as it would have
}

bool listen() {
    static std::once_flag once;
    static bool listening = false;
    std::call_once(once, [] {
        struct sigaction ours {};
        ours.sa_sigaction = &on_fault;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&ours.sa_mask);
        listening = sigaction(SIGSEGV, &ours, &previous) == 0;
    });
    return listening;
}

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

Fence::Fence(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2 || !listen()) return;
    const auto inside = round_up(bytes), whole = inside + 2 * reach_bytes;
    const auto slot = take_slot();
    if (slot < 0) return;
    auto& held = slots[static_cast<std::size_t>(slot)];
    void* const found = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto* const begin = static_cast<unsigned char*>(found);
    if (found == MAP_FAILED || mprotect(begin + reach_bytes, inside, PROT_READ | PROT_WRITE) != 0) {
        if (found != MAP_FAILED) munmap(found, whole);
        held.taken = false;
        return;
    }
    held.touched = false;
    held.begin = reinterpret_cast<std::uintptr_t>(begin);
    held.end = reinterpret_cast<std::uintptr_t>(begin) + whole;
    data_ = begin + reach_bytes;
    bytes_ = inside;
    slot_ = slot;
}

Fence::~Fence() {
    if (!data_) return;
    auto& held = slots[static_cast<std::size_t>(slot_)];
    held.begin = held.end = 0;
    munmap(static_cast<unsigned char*>(data_) - reach_bytes, bytes_ + 2 * reach_bytes);
    held.taken = false;
}

bool Fence::touched() const { return data_ && slots[static_cast<std::size_t>(slot_)].touched; }
#else
std::size_t Fence::round_up(std::size_t bytes) { return bytes; }
Fence::Fence(std::size_t bytes) { static_cast<void>(bytes); }
Fence::~Fence() = default;
bool Fence::touched() const { return false; }
#endif

Fence::Fence(Fence&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      slot_(std::exchange(other.slot_, -1)) {}

Fence& Fence::operator=(Fence&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(slot_, other.slot_);
    return *this;
}

}  // namespace gpuopt
