#include "runtime/recording.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gpuopt {
namespace {

thread_local std::shared_ptr<Recording> opened;

constexpr std::uintptr_t page = 4096;

template <class Value>
Value info(const cl::Memory& memory, cl_mem_info name) {
    Value value{};
    const auto code = clGetMemObjectInfo(memory(), name, sizeof value, &value, nullptr);
    if (code != CL_SUCCESS) rethrow_opencl("clGetMemObjectInfo", code);
    return value;
}

template <class Value>
Value image_info(const cl::Memory& image, cl_image_info name) {
    Value value{};
    const auto code = clGetImageInfo(image(), name, sizeof value, &value, nullptr);
    if (code != CL_SUCCESS) rethrow_opencl("clGetImageInfo", code);
    return value;
}

// The memory object that another one is a part of; none where it stands for itself.
cl::Memory parent_of(const cl::Memory& memory, cl_mem_object_type type) {
    const auto parent = type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? image_info<cl_mem>(memory, CL_IMAGE_BUFFER)
                                                             : info<cl_mem>(memory, CL_MEM_ASSOCIATED_MEMOBJECT);
    return parent ? cl::Buffer(parent, true) : cl::Memory();
}

Recording::Object described(const cl::Memory& memory) {
    Recording::Object found;
    found.type = info<cl_mem_object_type>(memory, CL_MEM_TYPE);
    constexpr cl_mem_flags told = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    const auto flags = info<cl_mem_flags>(memory, CL_MEM_FLAGS);
    found.flags = flags & told;
    found.bytes = info<std::size_t>(memory, CL_MEM_SIZE);
    if (found.type == CL_MEM_OBJECT_BUFFER) {
        found.first = info<std::size_t>(memory, CL_MEM_OFFSET);
        if (flags & CL_MEM_USE_HOST_PTR)
            found.host_offset =
                static_cast<int>(reinterpret_cast<std::uintptr_t>(info<void*>(memory, CL_MEM_HOST_PTR)) % page);
        return found;
    }
    found.format = image_info<cl_image_format>(memory, CL_IMAGE_FORMAT);
    const auto at_least_1 = [&](cl_image_info name) {
        return std::max<std::size_t>(1, image_info<std::size_t>(memory, name));
    };
    found.size = {at_least_1(CL_IMAGE_WIDTH), at_least_1(CL_IMAGE_HEIGHT),
                  std::max(at_least_1(CL_IMAGE_DEPTH), at_least_1(CL_IMAGE_ARRAY_SIZE))};
    // A driver's own figure may count rows that are longer than the picture.
    found.bytes =
        image_info<std::size_t>(memory, CL_IMAGE_ELEMENT_SIZE) * found.size[0] * found.size[1] * found.size[2];
    return found;
}

}  // namespace

void Recording::open(std::shared_ptr<Recording> recording) {
    if (opened) throw ParameterError("call", "it captures a call itself", "give the call alone");
    if (std::exchange(recording->opened_, true)) throw Error("a recording is opened once; make another one");
    opened = std::move(recording);
}

void Recording::close() noexcept { opened = nullptr; }

Recording* Recording::now() { return opened.get(); }

void Recording::finished() const {
    if (!finished_) throw Error("a recording tells what it holds once it is finished");
}

void Recording::launch(const std::shared_ptr<Session>& session, const std::shared_ptr<const Program>& program,
                       const std::string& entry_point, const Launch& launch, const std::vector<Argument>& arguments) {
    if (failure_) return;
    if (session_ && session_ != session)
        throw ParameterError("call", "it launches on " + session_->device().name + " and on " + session->device().name,
                             "give a call that works on one device");
    session_ = session;
    Step step;
    step.entry_point = entry_point;
    step.launch = launch;
    for (const auto& argument : arguments) {
        const int memory = argument.memory ? number_of(argument.memory->argument(), argument.memory->storage()) : -1;
        if (memory < 0 && argument.value.empty() && argument.local_bytes == 0)
            throw Error("an argument of " + entry_point + " was never set");
        step.arguments.push_back({memory, argument.value, argument.local_bytes});
    }
    step.program = number_of(program);
    steps_.push_back(std::move(step));
}

int Recording::number_of(const std::shared_ptr<const Program>& program) {
    const auto found = std::find(programs_.begin(), programs_.end(), program);
    const auto number = static_cast<int>(found - programs_.begin());
    if (found == programs_.end()) programs_.push_back(program);
    return number;
}

// An object that was touched is read again. Handles of objects that are held are no others'.
int Recording::number_of(const cl::Memory& handle, const std::shared_ptr<Storage>& storage) {
    const auto found =
        std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.handle() == handle(); });
    if (found == held_.end()) return add(handle, storage);
    const auto number = static_cast<int>(found - held_.begin());
    const auto& object = objects_[static_cast<std::size_t>(number)];
    if (object.parent >= 0) {
        number_of(held_[static_cast<std::size_t>(object.parent)].handle, storage);
    } else if (found->touched) {
        Step write;
        write.memory = number;
        write.contents = read(static_cast<std::size_t>(number));
        steps_.push_back(std::move(write));
        found->touched = false;
    }
    return number;
}

int Recording::add(const cl::Memory& handle, const std::shared_ptr<Storage>& storage) {
    auto object = described(handle);
    const auto parent = parent_of(handle, object.type);
    if (parent()) object.parent = number_of(parent, storage);
    const auto number = objects_.size();
    objects_.push_back(object);
    held_.push_back({handle, storage});
    if (!parent()) objects_[number].before = read(number);
    return static_cast<int>(number);
}

// The number of an object's contents; equal ones have one number.
int Recording::read(std::size_t number) {
    const auto& object = objects_[number];
    const auto refuse_above = [&](std::size_t bytes) {
        if (object.bytes > bytes)
            throw ParameterError("most_bytes",
                                 "the call works on more than " + readable_bytes(most_bytes_) +
                                     ", each buffer counted before its launches and, where they change it, after them",
                                 "give a smaller call, or allow more");
    };
    refuse_above(most_bytes_);
    std::vector<unsigned char> bytes(object.bytes);
    checked([&] {
        const auto& queue = session_->queue();
        const auto handle = held_[number].handle();
        if (object.type == CL_MEM_OBJECT_BUFFER)
            return queue.enqueueReadBuffer(cl::Buffer(handle, true), CL_TRUE, 0, bytes.size(), bytes.data());
        return queue.enqueueReadImage(cl::Image3D(handle, true), CL_TRUE, {0, 0, 0},
                                      {object.size[0], object.size[1], object.size[2]}, 0, 0, bytes.data());
    });
    const auto known = std::find(contents_.begin(), contents_.end(), bytes);
    const auto found = static_cast<int>(known - contents_.begin());
    if (known == contents_.end()) {
        refuse_above(most_bytes_ - held_bytes_);
        held_bytes_ += bytes.size();
        contents_.push_back(std::move(bytes));
    }
    return found;
}

void Recording::touch(const Storage& storage) noexcept {
    for (auto& held : held_)
        if (held.storage.get() == &storage) held.touched = true;
}

// What the host wrote after the last launch is no result of a launch. Nor is what lies in front of an array that was
// lent to be read: that memory is others', who may change it meanwhile.
void Recording::read_afterwards(std::size_t number) {
    auto& held = held_[number];
    auto& object = objects_[number];
    const bool only_read = object.host_offset >= 0 && (object.flags & CL_MEM_READ_ONLY) != 0;
    if (object.parent < 0 && !held.touched && !only_read) object.after = read(number);
    held = {};
}

void Recording::end_run() {
    for (std::size_t i = 0; i < held_.size(); ++i)
        if (held_[i].storage && !held_[i].storage->movable()) read_afterwards(i);
}

void Recording::finish() {
    if (failure_) std::rethrow_exception(failure_);
    if (session_) {
        const auto lock = session_->lock_runs();
        session_->catch_up();
        checked([&] { return session_->queue().finish(); });
        for (std::size_t i = 0; i < held_.size(); ++i)
            if (held_[i].storage) read_afterwards(i);
    }
    let_go();
    finished_ = true;
}

}  // namespace gpuopt
