// Small blocks read again and again, from each kind of memory a device has for them, and chains of dependent loads.
#include "workloads/microbench/rows.hpp"

namespace gpuopt {
namespace {

const Parameter width{"WIDTH", {1, 2, 4}, 4, "scalars in an element"};
const Parameter wide{"WIDTH", {4, 8, 16}, 16, "scalars in an element"};
const Parameter ahead{"AHEAD", {4, 8, 16}, 8, "independent loads of a trip"};
const Parameter uniform{
    "UNIFORM", {0, 1}, 1, "a work-group's items read neighbouring addresses (0) or all the same (1)"};
const Parameter stride{"STRIDE", {1, 2, 4, 8, 16, 32}, 1, "elements from what one work-item reads to its neighbour's"};
const Parameter block{"BLOCK", {1024, 4096}, 4096, "scalars copied to local memory"};
const Parameter linear{"LINEAR", {0, 1}, 0, "the nearest pixel (0) or a mean of four by quarters (1)"};
const Parameter chunks{"ITEMS", {2, 8, 64}, 8, "work-items, each of its own work-group and with a chunk of its own"};
const Parameter held{
    "BLOCK", {2048, 8192, 12288, 16384}, 8192, "scalars of local memory, as many as the chain or more"};
const Parameter lanes{"LANES", {1, 4, 8, 16}, 1, "places in an explicit vector"};
const Parameter channels{"CHANNELS", {1, 4}, 4, "floats in a pixel"};
constexpr std::int64_t chasing_items = 64;

Launch a_chunk_each(const Case& at) { return launch_1d(at.parameter("ITEMS"), 1); }
Launch one_group(const Case&) { return launch_1d(chasing_items, chasing_items); }
std::int64_t a_chunk_one(const Case& at) { return at.parameter("ITEMS"); }

double loads(const Case& at) {
    return double(items_of_full_device(at) * at.parameter("AHEAD")) * double(at.size("trips"));
}
std::function<Work(const Case&)> rereading(const char* memory) {
    return [memory](const Case& at) {
        auto work = moves(memory, loads(at) * double(width_of(at) * at.element_bytes()));
        work.flops = loads(at) * double(width_of(at));
        return work;
    };
}
Work fetching(const Case& at) {
    const auto floats = double(at.parameters.count("CHANNELS") ? at.parameter("CHANNELS") : 4);
    auto work = moves("image", loads(at) * floats * 4);
    work.flops = loads(at) * floats;
    work.special["fetch"] = loads(at);
    return work;
}
Work interpolating(const Case& at) {
    Work work;
    work.special["taps"] = loads(at) * double(at.parameter("LANES"));
    work.flops = 13 * work.special["taps"];
    return work;
}
Work rereading_chunks(const Case& at) {
    const auto scalars = double(at.size("elements")) * double(at.size("trips"));
    auto work = moves("global", scalars * double(at.element_bytes()));
    work.flops = scalars;
    return work;
}
Work chasing(const Case& at) {
    Work work;
    work.special["load"] = double(at.size("trips"));
    return work;
}

std::int64_t local_bytes(const Case& at) {
    return (at.parameter("BLOCK") + at.parameter("AHEAD") * at.parameter("WIDTH")) * at.element_bytes();
}
std::int64_t held_bytes(const Case& at) { return at.parameter("BLOCK") * at.element_bytes(); }
Rule chain_fits() {
    return {.of_device = false, .unmet = [](const Case& at) {
                return at.size("elements") <= at.parameter("BLOCK")
                           ? std::string()
                           : "a chain through " + std::to_string(at.size("elements")) +
                                 " scalars does not fit BLOCK=" + std::to_string(at.parameter("BLOCK"));
            }};
}
Rule between_pixels() {
    return constraint([](const Case& at) { return at.size("width") > 1 && at.size("elements") > at.size("width"); },
                      "one line of pixels has none to take means of");
}
Rule rows_of_pixels() {
    return {.of_device = false, .unmet = [](const Case& at) {
                const auto floats = at.parameter("CHANNELS");
                return at.size("width") % floats == 0 ? std::string()
                                                      : "a line of " + std::to_string(at.size("width")) +
                                                            " scalars is no row of pixels of " + std::to_string(floats);
            }};
}

}  // namespace

// Longer than a function should be: it is the table, a row after the other.
MicrobenchRows cache_rows() {
    return {
        {{
             .name = "constant",
             .summary = "all work-items re-read one small block of constant memory",
             .parameters = {width, local_size(), groups_a_unit(), ahead, uniform},
             .launch = full_device,
             .rules = {work_group_fits("LOCAL")},
             .family = "constant",
         },
         {
             .source = Source::constant,
             .outputs = items_of_full_device,
             .work = rereading("constant"),
         }},
        {{
             .name = "local",
             .summary =
                 "each work-group copies a block to local memory and re-reads it, neighbours STRIDE elements apart",
             .parameters = {width, local_size(), groups_a_unit(), ahead, stride, block},
             .launch = full_device,
             .rules = {work_group_fits("LOCAL"), needs_local_bytes(local_bytes),
                       at_most_elements((std::int64_t(1) << 32) - 1, "its places are counted in 32 bits")},
             .family = "local",
         },
         {
             .outputs = items_of_full_device,
             .work = rereading("local"),
         }},
        {{
             .name = "image1d",
             .summary = "all work-items re-read the pixels of a buffer through the texture path",
             .parameters = {local_size(), groups_a_unit(), ahead},
             .launch = full_device,
             .rules = {work_group_fits("LOCAL"), only_for({DType::f32})},
             .needs = {"images"},
             .family = "image1d",
         },
         {
             .source = Source::image1d_buffer,
             .outputs = items_of_full_device,
             .work = fetching,
         }},
        {{
             .name = "image2d",
             .summary = "all work-items re-read an image in patches of 4 x AHEAD/4, nearest pixels or bilinear means",
             .parameters = {local_size(), groups_a_unit(), ahead, linear, channels},
             .launch = full_device,
             .rules = {work_group_fits("LOCAL"), only_for({DType::f32}), rows_of_pixels()},
             .needs = {"images"},
             .family = "image2d",
         },
         {
             .source = Source::image2d,
             .outputs = items_of_full_device,
             .work = fetching,
         }},
        {{
             .name = "taps",
             .summary = "all work-items take means of four pixels of a buffer, again and again",
             .parameters = {lanes, local_size(), groups_a_unit(), ahead},
             .launch = full_device,
             .rules = {work_group_fits("LOCAL"), only_for({DType::f32}), between_pixels(),
                       at_most_elements((std::int64_t(1) << 31) - 1, "its places are counted in 31 bits")},
             .family = "taps",
         },
         {
             .outputs = items_of_full_device,
             .work = interpolating,
         }},
        {{
             .name = "reread",
             .summary =
                 "every work-group walks through all of the working set, at another place and pace than its neighbours",
             .parameters = {width, local_size(), groups_a_unit(), ahead},
             .launch = full_device,
             .rules = {work_group_fits("LOCAL")},
             .family = "cached",
         },
         {
             .outputs = items_of_full_device,
             .work = rereading("global"),
         }},
        {{
             .name = "reread_chunks",
             .summary = "few work-items, each reads a chunk of its own again and again",
             .parameters = {wide, chunks, ahead},
             .launch = a_chunk_each,
             .family = "cached",
         },
         {
             .outputs = a_chunk_one,
             .work = rereading_chunks,
         }},
        {{
             .name = "chase",
             .summary =
                 "one work-item follows a random cycle through global memory; a node is `width` scalars, or 128 bytes",
             .launch = one_item,
             .rules = {only_for({DType::u32})},
             .family = "latency",
         },
         {
             .outputs = one,
             .work = chasing,
         }},
        {{
             .name = "chase_local",
             .summary = "one work-item follows a random cycle through local memory",
             .parameters = {held},
             .launch = one_group,
             .rules = {only_for({DType::u32}), chain_fits(), needs_local_bytes(held_bytes)},
             .family = "latency",
         },
         {
             .outputs = one,
             .work = chasing,
         }},
        {{
             .name = "chase_constant",
             .summary = "one work-item follows a random cycle through constant memory",
             .launch = one_item,
             .rules = {only_for({DType::u32})},
             .family = "latency",
         },
         {
             .source = Source::constant,
             .outputs = one,
             .work = chasing,
         }},
    };
}

}  // namespace gpuopt
