#include <pybind11/stl.h>

#include <algorithm>
#include <array>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "runtime/fence.hpp"
#include "runtime/follower.hpp"
#include "runtime/recording.hpp"
#include "workloads/gemm/gemm.hpp"

namespace gpuopt {
namespace {

// The arrays of a product as they were given, checked against each other; nothing is on the device yet.
struct Arrays {
    Operand a, b;
    std::optional<Operand> c;
    bool transpose_a, transpose_b;
    double beta;
    GemmShape shape;

    Arrays(const py::object& a_given, const py::object& b_given, const py::object& c_given, bool transpose_a,
           bool transpose_b, double beta)
        : a(matrix_operand(a_given, "A", transpose_a ? "transpose_a=False" : "transpose_a=True")),
          b(matrix_operand(b_given, "B", transpose_b ? "transpose_b=False" : "transpose_b=True")),
          transpose_a(transpose_a),
          transpose_b(transpose_b),
          beta(beta) {
        if (a.dtype != DType::f32 && a.dtype != DType::f64)
            throw ArrayError("A", std::string("its dtype is ") + facts(a.dtype).numpy_name, "use float32 or float64");
        require_dtype(b, a.dtype, "A");
        require_same_kind(b);
        std::optional<std::vector<std::int64_t>> c_shape;
        if (!c_given.is_none()) {
            c = matrix_operand(c_given, "C");
            require_dtype(*c, a.dtype, "A");
            require_same_kind(*c);
            c_shape = c->shape;
        }
        shape = check_gemm(a.shape, b.shape, c_shape, transpose_a, transpose_b, beta);
    }

    void require_same_kind(const Operand& other) const {
        if (other.is_device() != a.is_device())
            throw ArrayError(other.name, "A and " + other.name + " are of different kinds",
                             "give both as NumPy arrays or both as DeviceArrays");
    }
};

// The arrays, the device they go to and the array for the result.
struct Call {
    Arrays arrays;
    std::shared_ptr<Session> session;
    Operand result;
    GemmArguments arguments;

    Call(Arrays given, std::shared_ptr<Session> on, double alpha, const py::object& out)
        : arrays(std::move(given)), session(std::move(on)) {
        for (const auto* operand : {&arrays.a, &arrays.b}) require_same_device(*operand, session);
        if (arrays.c) require_same_device(*arrays.c, session);
        const auto& shape = arrays.shape;
        result = result_operand(out, arrays.a.is_device(), arrays.a.dtype, shape.result, session, true);
        if (session->device().type == DeviceType::cpu) {
            keep_a = arrays.a.keeper();
            keep_b = arrays.b.keeper();
            if (arrays.c) keep_c = arrays.c->keeper();
            // An array of the caller's is not written to once the call has ended.
            if (out.is_none()) keep_result = result.keeper();
        }
        if (!out.is_none()) {
            refuse_overlap(arrays.a);
            refuse_overlap(arrays.b);
            if (arrays.c) refuse_overlap(*arrays.c);
        }
        arguments.dtype = arrays.a.dtype;
        arguments.m = shape.m;
        arguments.n = shape.n;
        arguments.k = shape.k;
        arguments.batch = shape.batch;
        arguments.transpose_a = arrays.transpose_a;
        arguments.transpose_b = arrays.transpose_b;
        arguments.alpha = alpha;
        arguments.beta = arrays.beta;
    }

    void refuse_overlap(const Operand& operand) const {
        if (overlap(result, operand))
            throw ArrayError("out", "it shares memory with " + operand.name, "give an array of its own");
    }

    // Makes the buffers. NumPy arrays are uploaded, unless the device can work in their memory. Call without the GIL.
    void upload() {
        const auto same = arrays.a.host == arrays.b.host && arrays.a.host && arrays.a.shape == arrays.b.shape &&
                          arrays.a.strides == arrays.b.strides;
        arguments.a = matrix(arrays.a, keep_a);
        arguments.b = same ? arguments.a : matrix(arrays.b, keep_b);
        if (arrays.beta != 0) arguments.c = matrix(*arrays.c, keep_c);
        if (result.is_device()) {
            arguments.d = dense(result.on_device, result);
            return;
        }
        in_place = can_write_in(result);
        arguments.d = dense(in_place ? Buffer::borrowed(session, result.host, bytes(result), keep_result)
                                     : DeviceArray::empty(session, result.dtype, result.shape, "the result").buffer,
                            result);
    }

    // Brings the result into the caller's array.
    void finish() const {
        if (in_place) arguments.d.buffer->settle();
        else if (!result.is_device()) result.take(*arguments.d.buffer);
    }

    bool in_place = false;
    std::shared_ptr<void> keep_a, keep_b, keep_c, keep_result;  // while the device works in their memory

    static std::size_t bytes(const Operand& operand) {
        return DeviceArray::bytes_of(operand.dtype, operand.shape, operand.name);
    }
    // A CPU's kernels work in the caller's memory. An array that is written must be aligned itself, so that its buffer
    // holds nothing else.
    bool can_write_in(const Operand& operand) const {
        return operand.host && session->device().type == DeviceType::cpu && operand.strides.empty() &&
               bytes(operand) > 0 &&
               reinterpret_cast<std::uintptr_t>(operand.host) % session->device().base_align_bytes == 0;
    }
    GemmMatrix matrix(const Operand& operand, const std::shared_ptr<void>& keeper) const {
        const auto in_memory =
            operand.strides.empty() ? operand.in_place(session, bytes(operand), keeper) : std::nullopt;
        if (!in_memory) return dense(operand.buffer(session), operand);
        auto found = dense(in_memory->buffer, operand);
        found.from = in_memory->begin;
        return found;
    }
    static GemmMatrix dense(std::shared_ptr<Buffer> buffer, const Operand& operand) {
        const auto rank = operand.shape.size();
        const auto rows = operand.shape[rank - 2], columns = operand.shape[rank - 1];
        return {std::move(buffer), columns, rank == 3 ? rows * columns : 0, 0};
    }
};

// A product of NumPy arrays in blocks of rows: while the device multiplies one, the next rows of A go up and, by
// another thread, the result's rows of an earlier one come back. Three blocks of A and of the result are on the device
// at a time.
class Blocks {
public:
    // Rows of a block; 0 where the product is to be one.
    static std::int64_t rows(const Call& call, const std::string& variant) {
        const auto& arrays = call.arrays;
        if (call.result.is_device() || arrays.shape.result.size() != 2 || call.arguments.alpha == 0 ||
            Recording::now() || Fences::now() || !may_run_beside(variant))
            return 0;
        const auto sizes = call.session->staging_sizes();
        if (!sizes) return 0;
        const auto m = double(arrays.shape.m), n = double(arrays.shape.n), k = double(arrays.shape.k);
        if (k == 0 || k * n < sizes->beside * (k + n)) return 0;
        const auto moved = m * (k + n) * double(facts(call.arguments.dtype).bytes);
        const auto count = static_cast<std::int64_t>(std::min(moved / double(sizes->block_bytes), double(most)));
        if (count < 4) return 0;  // three blocks of A and of the result would be nearly all of them
        const auto each = (arrays.shape.m / count + tile - 1) / tile * tile;
        return each < arrays.shape.m ? each : 0;
    }

    Blocks(Call& call, std::int64_t rows) : call_(call), rows_(rows) {}

    // Call without the GIL.
    void run(const std::string& variant, const Parameters& parameters) {
        call_.arguments.b = Call::dense(call_.arrays.b.buffer(call_.session), call_.arrays.b);
        for (auto& block : blocks_) make(block);
        call_.session->wait_for_queue();  // last: what worked on this memory before has ended
        Follower taker([this](std::int64_t number, const std::atomic<bool>& stop) { take(of(number), stop); });
        std::int64_t started = 0;
        for (std::int64_t first = 0; first < call_.arguments.m; first += rows_, ++started) {
            taker.wait_for(started - std::int64_t(blocks_.size()) + 1);
            auto& block = of(started);
            block.first = first;
            block.rows = std::min(rows_, call_.arguments.m - first);
            run_gemm(call_.session, sent(block), variant, parameters, false);
            block.done = call_.session->mark();
            taker.go_on();
        }
        taker.wait_for(started);
        call_.session->caught_up();
    }

private:
    static constexpr std::int64_t tile = 256, most = 64;  // rows of the largest tile; blocks

    struct Block {
        std::shared_ptr<Buffer> a, c, d;
        std::int64_t first = 0, rows = 0;
        cl::Event done;
    };
    Block& of(std::int64_t number) { return blocks_[static_cast<std::size_t>(number) % blocks_.size()]; }

    void make(Block& block) const {
        const auto& given = call_.arguments;
        const auto buffer = [&](std::int64_t columns, const char* name) {
            return DeviceArray::empty(call_.session, given.dtype, {rows_, columns}, name).buffer;
        };
        block.a = buffer(given.k, "A");
        block.d = buffer(given.n, "the result");
        if (given.beta != 0) block.c = buffer(given.n, "C");
    }

    // The block's product, with what it multiplies on the device.
    GemmArguments sent(const Block& block) const {
        auto part = call_.arguments;
        const auto element = static_cast<std::size_t>(facts(part.dtype).bytes);
        const auto up = [&](const Operand& from, const std::shared_ptr<Buffer>& to, std::int64_t lines,
                            std::int64_t columns, std::int64_t bytes_before) {
            to->upload_rows(static_cast<const unsigned char*>(from.host) + bytes_before, pitch(from),
                            static_cast<std::size_t>(columns) * element, static_cast<std::size_t>(lines), 0, true);
        };
        const auto& a = call_.arrays.a;
        if (part.transpose_a) up(a, block.a, part.k, block.rows, block.first * static_cast<std::int64_t>(element));
        else up(a, block.a, block.rows, part.k, block.first * pitch(a));
        part.m = block.rows;
        part.a = {block.a, part.transpose_a ? block.rows : part.k, 0, 0};
        part.d = {block.d, part.n, 0, 0};
        if (part.beta == 0) return part;
        const auto& c = *call_.arrays.c;
        up(c, block.c, block.rows, part.n, block.first * pitch(c));
        part.c = {block.c, part.n, 0, 0};
        return part;
    }

    void take(const Block& block, const std::atomic<bool>& stop) const {
        Session::wait_for(block.done, stop);
        if (stop) return;
        const auto& to = call_.result;
        const auto columns = static_cast<std::size_t>(call_.arguments.n) * facts(call_.arguments.dtype).bytes;
        block.d->download_rows(static_cast<unsigned char*>(to.host) + block.first * pitch(to), pitch(to), columns,
                               static_cast<std::size_t>(block.rows), 0, true);
    }

    // Bytes from row to row.
    static std::ptrdiff_t pitch(const Operand& matrix) {
        if (!matrix.strides.empty()) return matrix.strides[0];
        return matrix.shape[1] * static_cast<std::ptrdiff_t>(facts(matrix.dtype).bytes);
    }

    Call& call_;
    const std::int64_t rows_;
    std::array<Block, 3> blocks_;
};

py::object gemm(const py::object& a, const py::object& b, const py::object& c, double alpha, double beta,
                const py::object& out, bool transpose_a, bool transpose_b, const Device& device,
                const std::string& variant, const Levels& levels) {
    const auto& parameters = levels.values;
    Call call(Arrays(a, b, c, transpose_a, transpose_b, beta), session_of(device), alpha, out);
    {
        const WithoutGil release;
        if (const auto rows = Blocks::rows(call, variant)) {
            Blocks(call, rows).run(variant, parameters);
        } else {
            call.upload();
            run_gemm(call.session, call.arguments, variant, parameters);
            call.finish();
        }
    }
    return finished(call.result);
}

std::shared_ptr<Prepared> prepare(const DeviceArray& a, const DeviceArray& b, const std::optional<DeviceArray>& c,
                                  double alpha, double beta, const DeviceArray& out, bool transpose_a, bool transpose_b,
                                  const std::string& variant, const Parameters& parameters,
                                  const std::vector<GemmWay>& otherwise) {
    Call call(
        Arrays(py::cast(a), py::cast(b), c ? py::cast(*c) : py::object(py::none()), transpose_a, transpose_b, beta),
        out.buffer->session(), alpha, py::cast(out));
    const WithoutGil release;
    call.upload();
    std::vector<GemmWay> ways{{variant, parameters}};
    ways.insert(ways.end(), otherwise.begin(), otherwise.end());
    return prepare_gemm(call.session, call.arguments, ways);
}

py::tuple sizes(const py::object& a, const py::object& b, const py::object& c, double beta, bool transpose_a,
                bool transpose_b) {
    const Arrays arrays(a, b, c, transpose_a, transpose_b, beta);
    const auto& shape = arrays.shape;
    return py::make_tuple(numpy_dtype(arrays.a.dtype), shape.batch, shape.m, shape.n, shape.k);
}

}  // namespace

void bind_gemm(py::module_& module) {
    module.def("gemm_sizes", &sizes, py::arg("a"), py::arg("b"), py::arg("c"), py::arg("beta"), py::arg("transpose_a"),
               py::arg("transpose_b"), "Checks the arrays; their dtype, and batch, M, N, K of the product.");
    module.def("gemm", &gemm, py::arg("a"), py::arg("b"), py::arg("c"), py::arg("alpha"), py::arg("beta"),
               py::arg("out"), py::arg("transpose_a"), py::arg("transpose_b"), py::arg("device"), py::arg("variant"),
               py::arg("parameters"));
    module.def("prepare_gemm", &prepare, py::arg("a"), py::arg("b"), py::arg("c"), py::arg("alpha"), py::arg("beta"),
               py::arg("out"), py::arg("transpose_a"), py::arg("transpose_b"), py::arg("variant"),
               py::arg("parameters"), py::arg("otherwise") = std::vector<GemmWay>());
}

}  // namespace gpuopt
