// The table of tomography variants: adding one is a row here and kernels/tomography/<name>.cl.
#include "workloads/tomography/joseph.hpp"

namespace gpuopt {
namespace {

using Reads = TomographyVariant::Reads;

const char* const back_projection = "back_projection";
const Parameter few_across{"LOCAL_X", {8, 16, 32, 64}, 16, "work-items of a group along x"};
const Parameter few_down{"LOCAL_Y", {1, 4, 8, 16}, 16, "work-items of a group along y"};
const Parameter views_a_launch{"VIEWS",
                               {1, 2, 4, 8, 16, 32, 64, 128, 256},
                               64,
                               "views a launch, at most; the volume is read and written once in each"};

const Parameter native{"NATIVE", {0, 1}, 1, "on GPUs sine, cosine, root and reciprocal of the hardware (1)"};
const Parameter texture{"TEXTURE", {0, 1}, 0, "projections and angles in buffers (0) or images read unfiltered (1)"};
const Parameter table_of_angles{"TABLE", {0, 1}, 0, "sine and cosine of each view on the device (0) or the host (1)"};

std::int64_t across_of(const Case& at) { return at.parameter_or("LOCAL_X", 1); }
Launch groups(const Case& at, std::int64_t items_x, std::int64_t items_y, std::int64_t items_z) {
    return launch_3d({items_x, items_y, items_z}, across_of(at), at.parameter("LOCAL_Y"));
}

std::function<Launch(const Case&)> voxels_each(std::int64_t across) {
    return [across](const Case& at) {
        return groups(at, quotient_up(at.size("nx"), across), at.size("ny"), at.size("nz"));
    };
}
Launch columns_each(const Case& at) {
    const auto width = at.parameter_or("WIDTH", 1);
    return groups(at, quotient_up(at.size("nx"), width), at.size("ny"), quotient_up(at.size("nz"), at.parameter("Z")));
}
std::int64_t items_of_block(const Case& at) {
    return at.parameter("LOCAL_X") * at.parameter("LOCAL_Y") * at.parameter("LANES_Z");
}
Launch blocks_of_columns(const Case& at) {
    const auto across = at.parameter("LOCAL_X"), along = at.parameter("LOCAL_Y");
    const bool turned = at.size("along_x") != 0;
    const auto items = items_of_block(at), groups_x = quotient_up(at.size("nx"), turned ? along : across);
    return launch_3d({groups_x * items, quotient_up(at.size("ny"), turned ? across : along),
                      quotient_up(at.size("nz"), at.parameter("Z") * at.parameter("LANES_Z"))},
                     items, 1);
}
Launch columns_of_items(const Case& at) {
    return launch_3d({quotient_up(at.size("nx"), at.parameter("ACROSS")), at.size("ny"),
                      quotient_up(at.size("nz"), at.parameter("Z"))},
                     1, 1);
}

double updates(const Case& at) {
    return double(at.size("nx")) * double(at.size("ny")) * double(at.size("nz")) * double(at.size("views"));
}
// Two multiply-adds where u and 1 / w are a column's; else rows of a matrix, or of a turned frame, and a division.
double place_flops(const Case& at) { return at.size("upright") ? 2 : 12; }

Work fetches(const Case& at) {
    Work work;
    work.flops = (place_flops(at) + 2) * updates(at);
    work.special["fetch.linear"] = updates(at);
    return work;
}
// Three interpolations of a difference and a multiply-add, and a floor with its rest for each coordinate.
Work taps(const Case& at) {
    Work work;
    work.flops = (place_flops(at) + 2 + 13) * updates(at);
    work.bytes["requested"] = 4 * 4 * updates(at);
    if (at.size("rows") > 1) work.special["taps"] = updates(at);
    return work;
}
// The paper's: everything about a voxel and a view is computed for both. No ceiling of unfiltered fetches is measured.
Work taps_of_arc(const Case& at) {
    auto work = taps(at);
    work.flops = 40 * updates(at);
    if (at.parameter("TEXTURE")) work.special.clear();
    return work;
}

// Two taps a voxel; what is blended of a view's lines depends on its magnification and is not counted.
Work pairs(const Case& at) {
    Work work;
    work.flops = 10 * updates(at);
    work.bytes["requested"] = 4 * 2 * updates(at);
    return work;
}

Rule upright() {
    return constraint([](const Case& at) { return at.size("upright"); },
                      "its columns need detectors whose rows are parallel to z");
}
Rule group_fits() {
    return work_group_fits([](const Case& at) { return across_of(at) * at.parameter("LOCAL_Y"); });
}
Rule an_arc() {
    return constraint([](const Case& at) { return at.size("equiangular"); },
                      "the geometry assumed for Jang et al. 2009 is an arc of detectors about a source that circles z");
}
Rule view_fits(std::int64_t margin) {
    return constraint(
        [margin](const Case& at) { return (at.size("rows") + margin) * (at.size("columns") + margin) < INT32_MAX; },
        "a view of 2^31 pixels or more");
}

TomographyVariant paper(const char* name, const char* summary, std::int64_t across, int stream = 1) {
    TomographyVariant step{{
                               .name = name,
                               .summary = summary,
                               .parameters = {few_across, few_down, native, texture},
                               .launch = voxels_each(across),
                               .rules = {group_fits(), an_arc(), view_fits(0)},
                               .input_properties = {"equiangular"},
                               .family = back_projection,
                           },
                           {
                               .reads = Reads::arc,
                               .work = taps_of_arc,
                               .stream = stream,
                           }};
    if (step.name != "naive") step.parameters.push_back(table_of_angles);
    return step;
}

TomographyVariant image() {
    return {{
                .name = "image",
                .summary = "columns of voxels, the texture unit interpolates; sums stay in registers over many views",
                .parameters =
                    {{"LOCAL_X", {4, 8, 16, 32, 64}, 16, "columns of a group across the beam"},
                     {"LOCAL_Y", {1, 2, 4, 8, 16, 32, 64}, 8, "columns of a group along the beam"},
                     {"LANES_Z", {1, 2, 4}, 1, "neighbouring work-items along z"},
                     {"DEEP", {1, 2, 4, 8}, 4, "neighbouring work-items along the beam"},
                     {"BEAM", {0, 1}, 1, "along the beam is y (0), or in each launch x or y, whichever is nearer (1)"},
                     {"Z", {1, 2, 4, 8, 16, 32}, 32, "voxels along z a work-item"},
                     {"AT_ONCE", {1, 2, 4}, 2, "views under way at once"},
                     {"STRIP",
                      {0, 128, 256, 512},
                      256,
                      "voxels, of the strips in which groups follow one another; 0 for none"},
                     views_a_launch,
                     {"IMAGE", {2, 3}, 2, "layers of an array of images (2), planes of one image (3)"}},
                .launch = blocks_of_columns,
                .rules = {work_group_fits(items_of_block), multiple_of("LOCAL_Y", "DEEP")},
                .needs = {"images"},
                .family = back_projection,
            },
            {
                .reads = Reads::layers,
                .work = fetches,
            }};
}

TomographyVariant padded(const char* name, const char* summary, std::vector<Parameter> parameters,
                         std::vector<Rule> rules) {
    return {{
                .name = name,
                .summary = summary,
                .parameters = std::move(parameters),
                .launch = columns_each,
                .rules = std::move(rules),
                .family = back_projection,
            },
            {
                .reads = Reads::padded,
                .work = taps,
            }};
}
TomographyVariant buffer() {
    return padded("buffer", "columns of voxels, four taps of zero-padded projections each, exact weights",
                  {{"LOCAL_X", {8, 16, 32, 64}, 32, few_across.meaning},
                   {"LOCAL_Y", {1, 4, 8, 16}, 8, few_down.meaning},
                   {"Z", {1, 2, 4, 8, 16, 32}, 16, "voxels along z a work-item"},
                   views_a_launch},
                  {group_fits(), view_fits(3)});
}
TomographyVariant buffer_vectors() {
    return padded("buffer_vectors", "the same for CPUs in explicit vectors along x, two taps a load",
                  {{"WIDTH", {4, 8, 16}, 16, "voxels along x a work-item, in an explicit vector"},
                   {"LOCAL_Y", {1, 4, 16}, 1, few_down.meaning},
                   {"Z", {1, 2, 4, 8, 16, 32}, 8, "voxels along z a work-item"},
                   views_a_launch},
                  {group_fits(), view_fits(3), for_cpus()});
}

TomographyVariant columns() {
    return {
        {
            .name = "columns",
            .summary = "for CPUs: two lines of a transposed view are blended for a column of voxels, which takes two "
                       "neighbours each",
            .parameters = {{"ACROSS", {4, 8, 16, 32}, 16, "columns of voxels along x a work-item"},
                           {"Z", {16, 32, 64, 128, 256}, 128, "voxels along z a work-item"},
                           {"WIDTH", {8, 16}, 16, "voxels along z in an explicit vector"},
                           views_a_launch},
            .launch = columns_of_items,
            .rules = {for_cpus(), upright(), view_fits(20)},
            .input_properties = {"tall"},
            .family = back_projection,
        },
        {
            .reads = Reads::transposed,
            .work = pairs,
        }};
}

const std::vector<TomographyVariant>& table() {
    static const std::vector<TomographyVariant> rows = {
        paper("naive", "a voxel a work-item: sine, cosine, arc tangent and root, channel and row one after the other",
              1),
        paper("intrinsics", "the same with intrinsic functions for products, sums and comparisons", 1),
        paper("alu", "the same with one function for channel and row", 1),
        paper("vector_input", "the same with four views at once", 1, 4),
        paper("vector_output", "the same with four voxels a work-item", 4),
        image(),
        buffer(),
        buffer_vectors(),
        columns(),
        tomography_joseph(),
        tomography_joseph_image(),
        tomography_joseph_gather(),
        tomography_joseph_planes(),
        tomography_joseph_gather_any(),
    };
    return rows;
}

}  // namespace

const Workload& tomography_workload() {
    static const auto workload = workload_of("tomography", {DType::f32}, table());
    return workload;
}

}  // namespace gpuopt
