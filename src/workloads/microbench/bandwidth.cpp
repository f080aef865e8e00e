// Streams over global memory, by data type and shape: each shape is one that some device likes best.
#include "workloads/microbench/rows.hpp"

namespace gpuopt {
namespace {

const Parameter width{"WIDTH", {1, 2, 4, 8, 16}, 4, "scalars in an element"};
const Parameter copied_width{"WIDTH", {1, 2, 3, 4, 5, 8, 16, 32}, 4, width.meaning};
const Parameter wide_struct{"WIDTH", {3, 5, 8, 16, 32}, 5, "scalars in a struct"};
const Parameter as_struct{"STRUCT", {0, 1}, 0, "elements are OpenCL vectors (0) or structs (1)"};
const Parameter ahead{"AHEAD", {1, 2, 4, 8, 16}, 4, "independent loads of a work-item"};
const Parameter packed_bytes{"BYTES", {4, 8, 16}, 16, "bytes of a load"};
const Parameter sums{"AHEAD", {2, 4, 8}, 4, "independent sums"};
const Parameter chunks{
    "ITEMS", {2, 8, 64, 512}, 64, "work-items, each of its own work-group and with a chunk of its own"};

double bytes(const Case& at) { return double(at.size("elements") * at.element_bytes()); }
std::int64_t vectors(const Case& at) { return at.size("elements") / width_of(at); }
std::int64_t half_the_vectors(const Case& at) { return at.size("elements") / 2 / width_of(at); }
Launch of_vectors(const Case& at, std::int64_t count) {
    return launch_1d(quotient_up(count, at.parameter("AHEAD")), at.parameter("LOCAL"));
}
Launch some_each(const Case& at) { return of_vectors(at, vectors(at)); }
Launch some_each_of_half(const Case& at) { return of_vectors(at, half_the_vectors(at)); }
Launch one_each(const Case& at) { return launch_1d(vectors(at), at.parameter("LOCAL")); }
Launch a_pack_each(const Case& at) {
    const auto scalars = at.parameter("BYTES") / at.element_bytes();
    return launch_1d(quotient_up(at.size("elements"), scalars), at.parameter("LOCAL"));
}
Launch a_chunk_each(const Case& at) { return launch_1d(at.parameter("ITEMS"), 1); }

std::int64_t a_sum_a_group_of_loads(const Case& at) { return std::int64_t(some_each(at).global[0]); }
std::int64_t a_sum_a_chunk(const Case& at) { return at.parameter("ITEMS"); }
std::int64_t as_many(const Case& at) { return at.size("elements"); }
std::int64_t half_as_many(const Case& at) { return at.size("elements") / 2; }

Work reading(const Case& at) {
    auto work = moves("dram", bytes(at));
    work.flops = double(at.size("elements"));
    return work;
}
Work writing(const Case& at) { return moves("dram", bytes(at)); }
Work copying(const Case& at) { return moves("dram", 2 * bytes(at)); }
Work two_in_one_out(const Case& at) {
    auto work = moves("dram", 1.5 * bytes(at));
    work.flops = double(at.size("elements"));
    return work;
}

Rule vectors_of_opencl() {
    return {.of_device = false, .unmet = [](const Case& at) {
                const auto n = at.parameter("WIDTH");
                return at.parameter("STRUCT") == 1 || (n != 5 && n != 32)
                           ? std::string()
                           : "OpenCL has no vectors of " + std::to_string(n) + "; use STRUCT=1";
            }};
}
Rule structs_of_more_than_one() {
    return constraint([](const Case& at) { return at.parameter("STRUCT") == 0 || at.parameter("WIDTH") > 1; },
                      "a struct of one scalar is that scalar; use STRUCT=0");
}
Rule halves_hold_vectors() {
    return {.of_device = false, .unmet = [](const Case& at) {
                return at.size("elements") % (2 * width_of(at)) == 0
                           ? std::string()
                           : std::to_string(at.size("elements")) + " elements are no two arrays of whole vectors";
            }};
}
Rule whole_packs() {
    return {.of_device = false, .unmet = [](const Case& at) {
                const auto pack = at.parameter("BYTES"), element = at.element_bytes();
                if (pack < element)
                    return "an element has " + std::to_string(element) + " bytes, BYTES=" + std::to_string(pack);
                return at.size("elements") * element % pack == 0
                           ? std::string()
                           : "the array is no multiple of " + std::to_string(pack) + " bytes";
            }};
}
std::int64_t staged_bytes(const Case& at) { return at.parameter("LOCAL") * at.parameter("WIDTH") * at.element_bytes(); }

}  // namespace

// Longer than a function should be: it is the table, a row after the other.
MicrobenchRows bandwidth_rows() {
    return {
        {{
             .name = "read",
             .summary = "neighbouring work-items load neighbouring elements, AHEAD each, and add",
             .parameters = {width, local_size(), ahead},
             .launch = some_each,
             .rules = {work_group_fits("LOCAL")},
             .family = "read",
         },
         {
             .outputs = a_sum_a_group_of_loads,
             .work = reading,
             .stores_on_request = true,
         }},
        {{
             .name = "read_chunks",
             .summary = "few work-items, each adds up a chunk of its own",
             .parameters = {width, chunks, sums},
             .launch = a_chunk_each,
             .family = "read",
         },
         {
             .outputs = a_sum_a_chunk,
             .work = reading,
             .stores_on_request = true,
         }},
        {{
             .name = "write",
             .summary = "neighbouring work-items store neighbouring elements, AHEAD each",
             .parameters = {width, local_size(), ahead},
             .launch = some_each,
             .rules = {work_group_fits("LOCAL")},
             .family = "write",
         },
         {
             .outputs = as_many,
             .work = writing,
         }},
        {{
             .name = "write_chunks",
             .summary = "few work-items, each fills a chunk of its own",
             .parameters = {width, chunks},
             .launch = a_chunk_each,
             .family = "write",
         },
         {
             .outputs = as_many,
             .work = writing,
         }},
        {{
             .name = "copy",
             .summary = "neighbouring work-items copy neighbouring elements, AHEAD each",
             .parameters = {copied_width, as_struct, local_size(), ahead},
             .launch = some_each,
             .rules = {work_group_fits("LOCAL"), vectors_of_opencl(), structs_of_more_than_one()},
             .family = "copy",
         },
         {
             .outputs = as_many,
             .work = copying,
         }},
        {{
             .name = "copy_chunks",
             .summary = "few work-items, each copies a chunk of its own",
             .parameters = {width, chunks},
             .launch = a_chunk_each,
             .family = "copy",
         },
         {
             .outputs = as_many,
             .work = copying,
         }},
        {{
             .name = "copy_packed",
             .summary = "narrow elements by BYTES: a work-item takes what many would take, as one load",
             .parameters = {local_size(), packed_bytes},
             .launch = a_pack_each,
             .rules = {work_group_fits("LOCAL"), whole_packs()},
             .family = "copy",
         },
         {
             .outputs = as_many,
             .work = copying,
         }},
        {{
             .name = "copy_staged",
             .summary =
                 "wide structs through local memory: a work-group moves them as coalesced vectors of VIA scalars",
             .parameters = {wide_struct,
                            {"LOCAL", {64, 128, 256}, 128, local_size().meaning},
                            {"VIA", {1, 2, 4}, 1, "scalars in a load"}},
             .launch = one_each,
             .rules = {work_group_fits("LOCAL"), needs_local_bytes(staged_bytes)},
             .family = "copy",
         },
         {
             .outputs = as_many,
             .work = copying,
         }},
        {{
             .name = "triad",
             .summary = "a = b + s c: neighbouring work-items, AHEAD elements each",
             .parameters = {width, local_size(), ahead},
             .launch = some_each_of_half,
             .rules = {work_group_fits("LOCAL"), only_for(real_dtypes), halves_hold_vectors()},
             .family = "triad",
         },
         {
             .outputs = half_as_many,
             .work = two_in_one_out,
         }},
        {{
             .name = "triad_chunks",
             .summary = "a = b + s c: few work-items, a chunk each",
             .parameters = {width, chunks},
             .launch = a_chunk_each,
             .rules = {only_for(real_dtypes), halves_hold_vectors()},
             .family = "triad",
         },
         {
             .outputs = half_as_many,
             .work = two_in_one_out,
         }},
    };
}

}  // namespace gpuopt
