// The variant that multiplies on NVIDIA's tensor cores: operands split into short numbers by passes, then the product.
#include "runtime/fills.hpp"
#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

constexpr std::int64_t fp16 = 0, tf32 = 2;

std::int64_t parts_of(const Case& at) {
    const auto products = at.parameter("PRODUCTS");
    return products == 1 ? 1 : products == 3 ? 2 : 3;
}
std::int64_t k_of_a_plane(const Case& at) { return at.parameter("TYPE") == tf32 ? 4 : 8; }
// Elements of k between two barriers of a work-group.
std::int64_t k_of_a_round(const Case& at) { return 2 * at.parameter("STEPS") * k_of_a_plane(at); }
std::int64_t planes_of(const Case& at) {
    return quotient_up(at.size("K"), k_of_a_round(at)) * k_of_a_round(at) / k_of_a_plane(at);
}
std::int64_t items_of(const Case& at) {
    return 32 * (at.parameter("TILE_M") / at.parameter("WARP_M")) * (at.parameter("TILE_N") / at.parameter("WARP_N"));
}
constexpr std::int64_t piece = 16;  // bytes of a row in a plane

std::int64_t local_bytes(const Case& at) {
    return at.parameter("STAGES") * 2 * at.parameter("STEPS") * parts_of(at) * piece *
           (at.parameter("TILE_M") + at.parameter("TILE_N"));
}

Launch tiles(const Case& at) {
    return launch_1d(quotient_up(at.size("M"), at.parameter("TILE_M")) *
                         quotient_up(at.size("N"), at.parameter("TILE_N")) * items_of(at),
                     items_of(at));
}

std::map<std::string, double> traffic(const Case& at) {
    const auto tile_m = at.parameter("TILE_M"), tile_n = at.parameter("TILE_N");
    const auto tiles = double(quotient_up(at.size("M"), tile_m) * quotient_up(at.size("N"), tile_n));
    const auto a_row = double(planes_of(at) * parts_of(at) * piece);  // bytes of a row's parts
    // Whole tiles are copied to local memory; each warp then reads its rows of both.
    const auto warps_n = tile_n / at.parameter("WARP_N"), warps_m = tile_m / at.parameter("WARP_M");
    const auto copied = a_row * tiles * double(tile_m + tile_n),
               read = a_row * tiles * double(tile_m * warps_n + tile_n * warps_m);
    return {{"requested", copied}, {"local", copied + read}};
}

std::map<std::string, double> multiplications(const Case& at) {
    const char* units[] = {"mma_fp16", "mma_bf16", "mma_tf32"};
    return {{units[at.parameter("TYPE")], 2 * double(at.parameter("PRODUCTS")) * double(at.size("M")) *
                                              double(at.size("N")) * double(at.size("K"))}};
}

Launch groups(std::int64_t count, std::int64_t batch) { return launch_3d({count * 256, 1, batch}, 256, 1); }

// Ints on the device that a plan sets to 0 first. Each holds the bits of a row's largest magnitude; the last one holds
// flags for numbers that the short type cannot hold.
class Notes {
public:
    Notes(GemmPlanner& planner, std::int64_t count)
        : buffer_(planner.scratch(count + 1, "rows' largest magnitudes")), count_(count) {
        planner.plan().add("clear",
                           [buffer = buffer_](const cl::CommandQueue& queue, const std::vector<cl::Event>* wait) {
                               return enqueue_fill(queue, buffer->handle(), 0, buffer->bytes(), wait);
                           },
                           {buffer_});
    }
    const std::shared_ptr<Buffer>& buffer() const { return buffer_; }

    // A check after the run, which throws ArrayError where the flags are set.
    std::function<void()> validation(bool halves) const {
        return [buffer = buffer_, at = flags_at(), halves] {
            cl_int flags = 0;
            buffer->download(&flags, at, sizeof flags);
            if (flags & 1)
                throw ArrayError("A, B", "they hold Inf, NaN, or numbers that become Inf in the short type",
                                 "use precision=None for these");
            if (halves && flags & 2)
                throw ArrayError("A, B",
                                 "a number is less than 2^-39 of its row's (A) or column's (B) largest: lost in fp16",
                                 "use precision=\"bf16x6\", \"bf16x9\" or \"tf32x3\"");
        };
    }
    Question answer(bool halves) const {
        return [buffer = buffer_, at = flags_at(), halves](const cl::CommandQueue& queue) {
            cl_int flags = 0;
            checked([&] { return queue.enqueueReadBuffer(buffer->handle(), CL_TRUE, at, sizeof flags, &flags); });
            return (flags & (halves ? 3 : 1)) == 0;
        };
    }

private:
    std::size_t flags_at() const { return static_cast<std::size_t>(count_) * sizeof(cl_int); }

    std::shared_ptr<Buffer> buffer_;
    std::int64_t count_;
};

// One of the operands, split into parts and stored in the order that tensor cores read.
struct Operand {
    GemmMatrix parts;
    std::int64_t largest_step = 0;
    std::int64_t largest_from = 0;
};

class Builder {
public:
    Builder(GemmPlanner& planner, const GemmCall& part)
        : planner_(planner),
          at_(planner.at()),
          part_(part),
          notes_(planner, part.m * matrices(part.a) + part.n * matrices(part.b)) {}

    void build(const Launch& launch) {
        auto call = part_;
        const auto a = split(part_.a, part_.transpose_a, part_.m, "TILE_M", 0, "A, split");
        const auto b = split(part_.b, !part_.transpose_b, part_.n, "TILE_N", part_.m * matrices(part_.a), "B, split");
        call.a = a.parts;
        call.b = b.parts;
        call.transpose_a = call.transpose_b = false;
        planner_.in_parts_of_k(call, planner_.parts_of_k(call, launch), k_of_a_round(at_), [&](GemmCall part) {
            auto shape = launch;
            shape.global[2] = static_cast<std::size_t>(part.batch);
            if (part.k < call.k) {
                part.a.batch = piece_floats(part.k, "TILE_M");
                part.b.batch = piece_floats(part.k, "TILE_N");
            }
            planner_.multiply(part, shape);
            for (const auto* operand : {&a, &b})
                planner_.plan()
                    .arg(notes_.buffer())
                    .arg(cl_long(operand->largest_step))
                    .arg(cl_long(operand->largest_from));
        });
        planner_.plan().validate = notes_.validation(at_.parameter("TYPE") == fp16);
        planner_.plan().fits = notes_.answer(at_.parameter("TYPE") == fp16);
    }

private:
    // Distance between two parts of k in a tile, in floats.
    std::int64_t piece_floats(std::int64_t k, const char* tile) const {
        return k / k_of_a_plane(at_) * parts_of(at_) * at_.parameter(tile) * (piece / 4);
    }
    std::int64_t matrices(const GemmMatrix& matrix) const { return matrix.batch == 0 ? 1 : part_.batch; }

    Operand split(const GemmMatrix& from, bool rows_side_by_side, std::int64_t rows, const char* tile,
                  std::int64_t largest_from, const std::string& what) {
        const auto batch = matrices(from), planes = planes_of(at_),
                   padded = quotient_up(rows, at_.parameter(tile)) * at_.parameter(tile);
        Operand to;
        to.largest_from = largest_from;
        to.largest_step = batch > 1 ? rows : 0;
        const auto floats = padded * planes * parts_of(at_) * (piece / 4);
        to.parts.batch = from.batch == 0 ? 0 : floats;
        to.parts.ld = planes;
        to.parts.buffer = planner_.scratch(floats * batch, what);
        GemmCall call;
        call.a = call.b = from;
        call.d = to.parts;
        call.transpose_a = rows_side_by_side;
        call.m = rows;
        call.n = 1;
        call.k = part_.k;
        call.batch = batch;
        // Read once, for fp16 before that for its largest, and written as parts.
        planner_.asks_for(double(rows * part_.k * batch) * (at_.parameter("TYPE") == fp16 ? 2 : 1) +
                          double(floats * batch));
        auto& plan = planner_.plan();
        if (at_.parameter("TYPE") == fp16) {
            const auto count =
                rows_side_by_side ? quotient_up(rows, 256) * quotient_up(part_.k, 64) : quotient_up(rows, 8);
            planner_.pass("largest", call, groups(count, batch));
            plan.arg(notes_.buffer()).arg(cl_long(to.largest_step)).arg(cl_long(largest_from));
        }
        planner_.pass(
            "split", call, groups(padded / 64 * quotient_up(planes, 4), batch),
            {{"TYPE", at_.parameter("TYPE")}, {"PRODUCTS", at_.parameter("PRODUCTS")}, {"TILE", at_.parameter(tile)}});
        plan.arg(notes_.buffer()).arg(cl_long(to.largest_step)).arg(cl_long(largest_from));
        plan.arg(cl_int(planes)).arg(cl_long(part_.m * matrices(part_.a) + part_.n * matrices(part_.b)));
        return to;
    }

    GemmPlanner& planner_;
    const Case& at_;
    const GemmCall& part_;
    Notes notes_;
};

void build(GemmPlanner& planner) {
    std::vector<std::function<void()>> checks;
    std::vector<Question> answers;
    planner.in_parts(
        planner.whole(), [&](const Sizes& sizes) { return planner.launch(sizes); },
        [&](const GemmCall& part, const Launch& launch) {
            Builder(planner, part).build(launch);
            checks.push_back(planner.plan().validate);
            answers.push_back(planner.plan().fits);
        });
    planner.plan().validate = [checks] {
        for (const auto& check : checks) check();
    };
    planner.plan().fits = [answers](const cl::CommandQueue& queue) {
        return std::all_of(answers.begin(), answers.end(), [&](const Question& fits) { return fits(queue); });
    };
}

Rule has_tensor_cores() {
    return {.of_device = true, .unmet = [](const Case& at) {
                return at.device.is_nvidia()
                           ? std::string()
                           : at.device.name + " has no tensor cores that OpenCL reaches: NVIDIA's have, through PTX";
            }};
}
Rule of_floats() {
    auto rule = constraint([](const Case& at) { return at.dtype == DType::f32; }, "it splits float32");
    rule.dtypes = {DType::f32};
    return rule;
}
Rule is_a_form() {
    return constraint([](const Case& at) { return at.parameter("PRODUCTS") <= 3 || at.parameter("TYPE") == 1; },
                      "PRODUCTS above 3 are of bf16: fp16 and tf32 hold a float32 in two parts");
}
Rule tiles_divide() {
    return {.of_device = false, .unmet = [](const Case& at) {
                for (const auto* side : {"M", "N"}) {
                    const auto tile = at.parameter((std::string("TILE_") + side).c_str()),
                               warp = at.parameter((std::string("WARP_") + side).c_str());
                    if (tile % warp != 0) return std::string("TILE_") + side + " must be a multiple of WARP_" + side;
                    if (2 * at.parameter("STEPS") * parts_of(at) * tile % items_of(at) != 0)
                        return "the pieces of a tile of " + std::to_string(tile) + " are no multiple of " +
                               std::to_string(items_of(at)) + " work-items";
                }
                return std::string();
            }};
}

}  // namespace

GemmVariant gemm_tensor() {
    return {
        {
            .name = "tensor",
            .summary =
                "float32 numbers split into short ones by passes, multiplied on tensor cores, sums moved to float32",
            .parameters = {{.name = "TYPE",
                            .levels = {0, 1, 2},
                            .standard = 0,
                            .meaning = "short numbers: fp16 of scaled rows (0), bf16 (1), tf32 (2)",
                            .alters_accuracy = true},
                           {.name = "PRODUCTS",
                            .levels = {1, 3, 6, 9},
                            .standard = 3,
                            .meaning = "products of parts: 1 of one each, 3 of two, 6 or all 9 of three",
                            .alters_accuracy = true},
                           {.name = "PROMOTE",
                            .levels = {0, 1},
                            .standard = 1,
                            .meaning = "sums stay in the unit (0) or go to float32 each step of k (1)",
                            .alters_accuracy = true},
                           {"TILE_M", {64, 128, 256}, 128, "rows of the result a work-group"},
                           {"TILE_N", {64, 128, 256}, 128, "columns of the result a work-group"},
                           {"WARP_M", {32, 64}, 32, "rows of the result for 32 work-items"},
                           {"WARP_N", {32, 64}, 64, "columns of the result for 32 work-items"},
                           {"STEPS", {1, 2}, 1, "steps of k (32 bytes) between two meetings of a work-group"},
                           {"STAGES", {2, 3, 4}, 3, "tiles in local memory: one in use, others on their way"},
                           {"BAND", {1, 4, 8, 16}, 8, "rows of tiles whose work-groups run side by side"},
                           parts_of_k_parameter()},
            .launch = tiles,
            .rules = {of_floats(), has_tensor_cores(), is_a_form(), tiles_divide(), needs_local_bytes(local_bytes)},
        },
        {
            .bytes = traffic,
            .build = build,
            .special = multiplications,
            .looks_back = true,
        }};
}

}  // namespace gpuopt
