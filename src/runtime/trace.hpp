// Where a call's time goes: spans of named steps, noted while somebody asks for them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace gpuopt {

// Notes the time from its making to its end under a name that lives as long as the program. When nobody asks it costs a
// look at a flag.
class Traced {
public:
    struct Span {
        const char* name;
        std::int64_t begin_ns, end_ns;  // of the steady clock
        std::int64_t thread;            // the operating system's number
    };

    explicit Traced(const char* name) : name_(on_.load(std::memory_order_relaxed) ? name : nullptr) {
        if (name_) begin_ns_ = now_ns();
    }
    ~Traced() {
        if (name_) note(name_, begin_ns_);
    }
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;

    // What its thread notes, as long as it is there, is noted as another thread's, which waits for it; as nobody's it
    // is not noted.
    static constexpr std::int64_t nobody = -1;
    class For {
    public:
        explicit For(std::int64_t thread);
        ~For();
        For(const For&) = delete;
        For& operator=(const For&) = delete;
    };
    static std::int64_t thread();  // of which what is noted here is

    static void set(bool on);          // what was noted before goes
    static std::vector<Span> spans();  // all since it was set; the first million

private:
    static std::int64_t now_ns() {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    }
    static void note(const char* name, std::int64_t begin_ns) noexcept;

    static std::atomic<bool> on_;
    const char* name_;
    std::int64_t begin_ns_ = 0;
};

}  // namespace gpuopt
