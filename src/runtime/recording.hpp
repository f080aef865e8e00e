// What a thread launches, with the contents of the memory that it works on: all that a program without gpuopt needs to
// launch it again.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch.hpp"
#include "runtime/memory.hpp"
#include "runtime/session.hpp"

namespace gpuopt {

// While it is open, every kernel that its thread launches is recorded; launches of other threads are not. Commands that
// are no kernels, and what the host writes, are recorded by what they leave: the contents that the next launch finds.
// Memory that is recorded lives until `finish`, but for what a caller lent, whose contents are read when its run ends.
class Recording {
public:
    // What a kernel's argument is set to: one of the three.
    struct Argument {
        std::shared_ptr<Memory> memory{};
        std::string value{};  // the bytes of a number or a struct
        std::size_t local_bytes = 0;
    };
    // The same, with memory as a number in `memories`; -1 where it is none.
    struct Set {
        int memory = -1;
        std::string value{};
        std::size_t local_bytes = 0;
    };
    // A launch, or, where there is no program, contents that the host gives to memory.
    struct Step {
        int program = -1;
        std::string entry_point{};
        Launch launch{};
        std::vector<Set> arguments{};
        int memory = -1, contents = -1;
    };
    struct Object {
        cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
        cl_mem_flags flags = 0;
        int parent = -1;                           // the buffer that it is a part of, or whose pixels it shows
        std::size_t first = 0;                     // of a part: where it begins, in bytes
        std::size_t bytes = 0;                     // its own
        int host_offset = -1;                      // of memory in place on the host: bytes from the beginning of a page
        std::array<std::size_t, 3> size{1, 1, 1};  // of images, in pixels; the last one counts layers too
        cl_image_format format{};
        int before = -1, after = -1;  // contents; -1: there are none of its own, or nothing is known of them
    };

    // `most_bytes` of contents are held at once; more throw ParameterError.
    explicit Recording(std::size_t most_bytes) : most_bytes_(most_bytes) {}
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    // Throws Error where one is open in this thread, or where this one was opened before.
    static void open(std::shared_ptr<Recording> recording);
    static void close() noexcept;
    static Recording* now();  // nullptr where none is open in this thread

    // Before a launch, with the lock of runs and when all that was enqueued has ended: reads what the kernel will work
    // on.
    void launch(const std::shared_ptr<Session>& session, const std::shared_ptr<const Program>& program,
                const std::string& entry_point, const Launch& launch, const std::vector<Argument>& arguments);
    // Something else than a kernel writes this memory.
    void touch(const Storage& storage) noexcept;
    // At a run's end, as before a launch: reads what was lent to it.
    void end_run();
    // A launch failed: so will `finish`, even where the call knew how to go on. Nothing more is recorded.
    void fail(std::exception_ptr why) noexcept {
        failure_ = std::move(why);
        let_go();
    }
    // Reads what the launches left, and lets all memory go.
    void finish();
    void let_go() noexcept { held_.clear(); }

    // After `finish`; before, they throw Error.
    const std::shared_ptr<Session>& session() const { return finished(), session_; }
    const std::vector<std::shared_ptr<const Program>>& programs() const { return finished(), programs_; }
    const std::vector<Step>& steps() const { return finished(), steps_; }
    const std::vector<Object>& objects() const { return finished(), objects_; }
    const std::vector<std::vector<unsigned char>>& contents() const { return finished(), contents_; }

private:
    // What keeps an object as it is for as long as it is looked at; nothing afterwards.
    struct Held {
        cl::Memory handle{};
        std::shared_ptr<Storage> storage{};
        bool touched = false;
    };

    int number_of(const std::shared_ptr<const Program>& program);
    int number_of(const cl::Memory& handle, const std::shared_ptr<Storage>& storage);
    int add(const cl::Memory& handle, const std::shared_ptr<Storage>& storage);
    int read(std::size_t object);
    void read_afterwards(std::size_t object);
    void finished() const;

    std::size_t most_bytes_, held_bytes_ = 0;
    bool opened_ = false, finished_ = false;
    std::exception_ptr failure_;
    std::shared_ptr<Session> session_;
    std::vector<std::shared_ptr<const Program>> programs_;
    std::vector<Step> steps_;
    std::vector<Object> objects_;
    std::vector<Held> held_;  // of each object
    std::vector<std::vector<unsigned char>> contents_;
};

}  // namespace gpuopt
