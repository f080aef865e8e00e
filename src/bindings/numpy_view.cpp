#include "bindings/numpy_view.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>

#include "runtime/large_pages.hpp"

namespace gpuopt {

DType dtype_of(const py::dtype& dtype, const std::string& name) {
    static const std::map<std::pair<char, py::ssize_t>, DType> known = {
        {{'i', 1}, DType::i8},  {{'u', 1}, DType::u8},  {{'i', 2}, DType::i16}, {{'u', 2}, DType::u16},
        {{'i', 4}, DType::i32}, {{'u', 4}, DType::u32}, {{'i', 8}, DType::i64}, {{'u', 8}, DType::u64},
        {{'f', 2}, DType::f16}, {{'f', 4}, DType::f32}, {{'f', 8}, DType::f64},
    };
    const auto text = py::str(dtype).cast<std::string>();
    if (dtype.kind() == 'c')
        throw UnsupportedError(
            UnsupportedError::Because::constraint,
            name + ": complex numbers (" + text + ") are not supported; use real and imaginary parts");
    const auto found = known.find({dtype.kind(), dtype.itemsize()});
    if (found == known.end())
        throw ArrayError(name, "its dtype " + text + " has no OpenCL type",
                         "convert it, e.g. " + name + ".astype(np.float32)");
    if (!dtype.attr("isnative").cast<bool>())
        throw ArrayError(name, "its byte order is not the machine's",
                         "use " + name + ".astype(" + name + ".dtype.newbyteorder('='))");
    return found->second;
}

py::dtype numpy_dtype(DType dtype) { return py::dtype(facts(dtype).numpy_name); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string text = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

std::shared_ptr<Buffer> Operand::buffer(const std::shared_ptr<Session>& session) const {
    if (on_device) return on_device;
    auto made = std::make_shared<Buffer>(session, DeviceArray::bytes_of(dtype, shape, name), name);
    made->upload(host);
    return made;
}

Operand operand(py::handle object, const std::string& name, bool writable) {
    Operand result;
    result.name = name;
    result.owner = py::reinterpret_borrow<py::object>(object);
    if (py::isinstance<DeviceArray>(object)) {
        const auto& array = object.cast<const DeviceArray&>();
        result.dtype = array.dtype;
        result.shape = array.shape;
        result.on_device = array.buffer;
        return result;
    }
    if (!py::isinstance<py::array>(object))
        throw ArrayError(
            name,
            "expected a NumPy array or DeviceArray, got " + py::type::of(object).attr("__name__").cast<std::string>(),
            "use np.asarray(" + name + ", dtype=np.float32)");
    const auto array = py::reinterpret_borrow<py::array>(object);
    result.dtype = dtype_of(array.dtype(), name);
    result.shape.assign(array.shape(), array.shape() + array.ndim());
    if (!(array.flags() & py::array::c_style))
        throw ArrayError(name, "it is not C-contiguous", "use np.ascontiguousarray(" + name + ")");
    if (writable && !array.writeable()) throw ArrayError(name, "it is read-only", "give a writable array");
    result.host = const_cast<void*>(array.data());
    return result;
}

void require_dtype(const Operand& operand, DType wanted, const std::string& like) {
    if (operand.dtype != wanted)
        throw ArrayError(operand.name,
                         std::string("its dtype is ") + facts(operand.dtype).numpy_name + ", " + like + " is " +
                             facts(wanted).numpy_name,
                         "use " + operand.name + ".astype(np." + facts(wanted).numpy_name + ")");
}

void require_same_device(const Operand& operand, const std::shared_ptr<Session>& session) {
    if (operand.on_device && operand.on_device->session() != session)
        throw ArrayError(operand.name,
                         "it lies on " + operand.on_device->session()->device().name + ", the operation runs on " +
                             session->device().name,
                         "move it with gpuopt.to_device(" + operand.name + ".to_numpy(), device)");
}

namespace {

// Large pages of results that were let go, for the next ones: where fresh memory is dear (virtual machines), the first
// touch of a result costs a good part of the product that makes it. At most 64 MiB stay with the process.
class KeptPages {
public:
    KeptPages() { blocks_.reserve(most_blocks); }  // giving back must not throw
    std::unique_ptr<LargePages> take(std::size_t bytes) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto fits = [&](const auto& block) {
                return block->bytes() >= bytes && block->bytes() - bytes < LargePages::page_bytes;
            };
            const auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
            if (found != blocks_.end()) {
                auto block = std::move(*found);
                blocks_.erase(found);
                return block;
            }
        }
        return std::make_unique<LargePages>(bytes);
    }
    void give(std::unique_ptr<LargePages> block) {
        if (block->bytes() > most_bytes) return;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (blocks_.size() == most_blocks) blocks_.erase(blocks_.begin());
        blocks_.push_back(std::move(block));
    }

private:
    static constexpr std::size_t most_blocks = 4, most_bytes = std::size_t(16) << 20;  // of each

    std::mutex mutex_;
    std::vector<std::unique_ptr<LargePages>> blocks_;
};

KeptPages& kept_pages() {
    static auto* const pages = new KeptPages;  // arrays may outlive everything else
    return *pages;
}

// A new NumPy array that a device can write in place: aligned for any vector, a big one on large pages.
py::array host_array(DType dtype, const std::vector<std::int64_t>& shape) {
    constexpr auto alignment = std::align_val_t{128};
    const std::vector<py::ssize_t> lengths(shape.begin(), shape.end());
    const auto bytes = DeviceArray::bytes_of(dtype, shape, "the result");
    if (bytes >= 2 * LargePages::page_bytes) {
        auto pages = kept_pages().take(bytes);
        if (void* const data = pages->data()) {
            const py::capsule owner(pages.get(), [](void* held) {
                kept_pages().give(std::unique_ptr<LargePages>(static_cast<LargePages*>(held)));
            });
            static_cast<void>(pages.release());
            return py::array(numpy_dtype(dtype), lengths, data, owner);
        }
    }
    void* const data = ::operator new(std::max<std::size_t>(bytes, 1), alignment);
    const py::capsule owner(data, [](void* held) { ::operator delete(held, alignment); });
    return py::array(numpy_dtype(dtype), lengths, data, owner);
}

}  // namespace

Operand result_operand(py::handle out, bool on_device, DType dtype, const std::vector<std::int64_t>& shape,
                       const std::shared_ptr<Session>& session) {
    if (!out.is_none()) {
        auto given = operand(out, "out", true);
        require_dtype(given, dtype, "the result");
        if (given.shape != shape)
            throw ArrayError("out",
                             "its shape is " + shape_text(given.shape) + ", the result's is " + shape_text(shape),
                             "give an array of the result's shape");
        if (given.is_device() != on_device)
            throw ArrayError("out",
                             on_device ? "the inputs are DeviceArrays, it is a NumPy array"
                                       : "the inputs are NumPy arrays, it is a DeviceArray",
                             "give the kind of array that the inputs are");
        require_same_device(given, session);
        return given;
    }
    if (on_device) return operand(py::cast(DeviceArray::empty(session, dtype, shape, "the result")), "out");
    session->require_room(DeviceArray::bytes_of(dtype, shape, "the result"), "the result");
    return operand(host_array(dtype, shape), "out");
}

py::object finished(const Operand& result) { return result.owner; }

}  // namespace gpuopt
