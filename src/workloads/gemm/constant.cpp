// Plans of the variant that reads A from constant memory: one pass transposes all of A, panel by panel; then each
// launch gets a panel as its constant buffer, where it lies or copied.
#include <algorithm>
#include <map>

#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

constexpr std::int64_t most_launches = 1 << 16;  // of a plan; each holds a kernel object
constexpr std::int64_t most_bytes =
    1 << 16;  // of constant memory on GPUs; some CPUs report all of their memory as constant

std::int64_t tiles_a_panel(const Case& at) {
    if (at.parameter("TILES") == 1) return 1;
    const auto room = std::min(most_bytes, static_cast<std::int64_t>(at.device.constant_bytes));
    const auto tile = at.parameter("HEIGHT") * at.parameter("DEPTH") * at.element_bytes();
    return std::max<std::int64_t>(1, std::min(room / tile, quotient_up(at.size("M"), at.parameter("HEIGHT"))));
}

// What all launches of a plan share. A tile is `rows` x `depth` of A; its panel lies in `panels`.
struct Tiles {
    GemmCall whole;
    GemmMatrix panels;
    std::int64_t matrices = 0, rows = 0, depth = 0, panel = 0;

    std::int64_t down() const { return quotient_up(whole.m, rows); }
    std::int64_t across() const { return quotient_up(whole.k, depth); }
};

// The part of the product that a tile of A takes part in.
GemmCall part_of(const GemmPlanner& planner, const Tiles& tiles, std::int64_t matrix, std::int64_t i, std::int64_t j) {
    auto call = tiles.whole;
    const auto m = i * tiles.rows, k = j * tiles.depth;
    call.m = std::min(call.m - m, tiles.rows);
    call.k = std::min(call.k - k, tiles.depth);
    if (tiles.whole.a.batch != 0) call.batch = 1;
    if (k > 0) call.addend = Addend::d;
    call.b.from += matrix * call.b.batch + k * (planner.arguments().transpose_b ? 1 : call.b.ld);
    call.c.from += matrix * call.c.batch + m * call.c.ld;
    call.d.from += matrix * call.d.batch + m * call.d.ld;
    return call;
}

// Launches for a call with these constants, in one of the queues, after steps of the other one; the numbers of their
// steps.
std::vector<std::size_t> multiply(GemmPlanner& planner, const GemmCall& call, const std::shared_ptr<Memory>& constants,
                                  std::size_t queue = 0, const std::vector<std::size_t>& after = {}) {
    std::vector<std::size_t> steps;
    planner.in_parts(
        call, [&](const Sizes& sizes) { return planner.launch(sizes); },
        [&](const GemmCall& part, const Launch& launch) {
            auto& plan = planner.plan();
            planner.multiply(part, launch);
            plan.arg(constants);
            if (queue == 1) plan.in_second_queue();
            plan.wait_for(after);
            steps.push_back(plan.steps().size() - 1);
        });
    return steps;
}

// Each launch's constant buffer is a part of the panels. Panels of the same rows in turn: their sums stay near.
void in_place(GemmPlanner& planner, const Tiles& tiles) {
    const auto bytes = static_cast<std::size_t>(tiles.panel * planner.at().element_bytes());
    std::size_t first = 0;
    for (std::int64_t matrix = 0; matrix < tiles.matrices; ++matrix)
        for (std::int64_t i = 0; i < tiles.down(); ++i)
            for (std::int64_t j = 0; j < tiles.across(); ++j, first += bytes) {
                const auto constants = std::make_shared<BufferPart>(tiles.panels.buffer, first, bytes);
                planner.plan().keep(constants);
                multiply(planner, part_of(planner, tiles, matrix, i, j), constants);
            }
}

// Yang's Figure 15: each panel is copied into a constant buffer, whose kernel follows in the same queue; with two
// buffers in two queues, in turn, one is filled while the kernel of the other runs. Tiles of the same columns of A in
// turn, whose results are other rows. A kernel that adds to rows that the other queue's kernel wrote last waits for
// that.
void through_constant_buffers(GemmPlanner& planner, const Tiles& tiles) {
    auto& plan = planner.plan();
    const auto queues = static_cast<std::size_t>(planner.at().parameter("QUEUES"));
    const auto bytes = static_cast<std::size_t>(tiles.panel * planner.at().element_bytes());
    std::vector<std::shared_ptr<Buffer>> buffers;
    for (std::size_t i = 0; i < queues; ++i) buffers.push_back(planner.scratch(tiles.panel, "the constant buffer"));
    struct Writer {
        std::size_t queue = 0;
        std::vector<std::size_t> steps;
    };
    std::map<std::pair<std::int64_t, std::int64_t>, Writer> last;  // by matrix and tile of rows
    const auto packed = plan.steps().size() - 1;
    std::size_t count = 0;
    for (std::int64_t matrix = 0; matrix < tiles.matrices; ++matrix)
        for (std::int64_t j = 0; j < tiles.across(); ++j)
            for (std::int64_t i = 0; i < tiles.down(); ++i, ++count) {
                const auto queue = count % queues;
                const auto from = static_cast<std::size_t>((matrix * tiles.down() + i) * tiles.across() + j) * bytes;
                const auto& panels = tiles.panels.buffer;
                const auto& constants = buffers[queue];
                plan.add("copy to the constant buffer",
                         [=](const cl::CommandQueue& on, const std::vector<cl::Event>* wait) {
                             cl::Event event;
                             on.enqueueCopyBuffer(panels->handle(), constants->handle(), from, 0, bytes, wait, &event);
                             return event;
                         },
                         {constants});
                if (queue == 1) plan.in_second_queue();
                if (count == 1 && queue == 1) plan.wait_for({packed});
                auto& writer = last[{matrix, i}];
                const auto after = writer.queue == queue ? std::vector<std::size_t>{} : writer.steps;
                const auto call = part_of(planner, tiles, matrix, i, j);
                writer = {queue, multiply(planner, call, constants, queue, after)};
            }
}

}  // namespace

std::map<std::string, double> bytes_of_constant(const Case& at) {
    const auto m = double(at.size("M")), n = double(at.size("N")), k = double(at.size("K"));
    const auto element = double(at.element_bytes()), height = double(at.parameter("HEIGHT"));
    const auto rows = double(quotient_up(at.size("M"), at.parameter("HEIGHT")));
    const auto panels = double(quotient_up(at.size("K"), at.parameter("DEPTH")));
    // A is read and its panels are written; where they are copied, they are read and written once more.
    const auto tall = tiles_a_panel(at) * at.parameter("HEIGHT");
    const auto packed = double(quotient_up(at.size("M"), tall) * tall) * panels * double(at.parameter("DEPTH"));
    const auto passes = m * k + packed * (at.parameter("QUEUES") == 0 ? 1 : 3);
    return {{"requested", element * (k * n * rows + m * n * 2 * (panels - 1) + passes)},
            {"constant", element * k * n * rows * height}};
}

void build_constant(GemmPlanner& planner) {
    const auto& at = planner.at();
    const auto height = at.parameter("HEIGHT"), depth = at.parameter("DEPTH"), tiles = tiles_a_panel(at);
    const auto whole = planner.whole();
    const auto matrices = whole.a.batch == 0 ? std::int64_t(1) : whole.batch;
    const auto down = quotient_up(whole.m, tiles * height), across = quotient_up(whole.k, depth);
    if (down * across * matrices > most_launches)
        throw UnsupportedError(UnsupportedError::Because::constraint,
                               "gemm constant: A has " + std::to_string(down * across * matrices) +
                                   " panels, a launch each; take larger ones, or another variant");

    const auto panel = tiles * height * depth;
    auto packing = whole;
    packing.addend = Addend::none;
    packing.batch = matrices;
    packing.d = {planner.scratch(down * across * panel * matrices, "panels of A"), 0, down * across * panel, 0};
    const auto element_a_work_item = [&](const Sizes& sizes) {
        return launch_3d({packing.d.batch, 1, sizes.at("batch")}, 64, 1);
    };
    planner.in_parts(packing, element_a_work_item, [&](const GemmCall& part, const Launch& launch) {
        planner.pass("constant_panels", part, launch, {{"TILES", tiles}, {"HEIGHT", height}, {"DEPTH", depth}});
    });

    const Tiles all{whole, packing.d, matrices, tiles * height, depth, panel};
    if (at.parameter("QUEUES") == 0) in_place(planner, all);
    else through_constant_buffers(planner, all);
}

}  // namespace gpuopt
