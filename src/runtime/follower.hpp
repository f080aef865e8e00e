// A thread that does pieces of one kind of work in order, while its maker prepares the next ones.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace gpuopt {

// For the length of a call of the maker's, which waits and looks at signals: `work` uses nothing of Python's.
class Follower {
public:
    // `work` may leave off once `stop` says that nobody needs the piece any more.
    using Work = std::function<void(std::int64_t piece, const std::atomic<bool>& stop)>;
    explicit Follower(Work work);
    // The piece at work is told to stop and waited for, those behind it are left out.
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    void go_on();  // one piece more is ready
    // Until so many pieces are done; looks at signals, and throws what a piece threw.
    void wait_for(std::int64_t pieces);

private:
    void serve();

    const Work work_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t ready_ = 0, done_ = 0;
    std::atomic<bool> stop_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace gpuopt
