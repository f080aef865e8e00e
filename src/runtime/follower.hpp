// A thread that does pieces of one kind of work in order, while its maker prepares the next ones.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace gpuopt {

// For the length of a call of the maker's, which waits: `work` uses nothing of Python's and looks at no signals.
class Follower {
public:
    explicit Follower(std::function<void(std::int64_t piece)> work);
    // The piece at work is waited for, those behind it are left out.
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    void go_on();  // one piece more is ready
    // Until so many pieces are done; looks at signals, and throws what a piece threw.
    void wait_for(std::int64_t pieces);

private:
    void serve();

    const std::function<void(std::int64_t)> work_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t ready_ = 0, done_ = 0;
    bool stop_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace gpuopt
