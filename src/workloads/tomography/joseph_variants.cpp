// The rows of Joseph's projectors.
#include <algorithm>

#include "workloads/tomography/joseph.hpp"

namespace gpuopt {
namespace {

std::int64_t quotient_up(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }

Rule group_fits(const char* across, const char* down) {
    return {true, [across, down](const Case& at) {
                const auto wanted = at.parameter(across) * at.parameter(down);
                return wanted <= static_cast<std::int64_t>(at.device.max_work_group_size)
                           ? std::string()
                           : "a work-group of " + std::to_string(wanted) + "; " + at.device.name + " allows " +
                                 std::to_string(at.device.max_work_group_size);
            }};
}
Rule upright_scan() {
    return {false, [](const Case& at) {
                return at.size("upright") ? std::string()
                                          : "the detector's rows are not parallel to z, rays are steeper than they are "
                                            "wide, or the scan has two dimensions; use joseph_gather_any";
            }};
}
Rule plane_fits() {
    return {false, [](const Case& at) {
                const auto n = std::max({at.size("nx"), at.size("ny"), at.size("nz")}) + 36;
                return n * n < INT32_MAX ? std::string() : "a plane of 2^31 voxels or more";
            }};
}

// Of a whole scan with one main axis; a plan launches for what its runs are.
Launch rays(const Case& at) {
    const auto local_u = at.parameter("LOCAL_U"), local_v = at.parameter("LOCAL_V");
    return launch_3d({quotient_up(at.size("columns"), local_u) * local_v, at.size("views") * local_u,
                      quotient_up(at.size("rows"), local_v * at.parameter("RAYS"))},
                     local_v, local_u);
}
Launch columns_of_voxels(const Case& at) {
    const auto local_z = at.parameter("LOCAL_Z");
    return launch_3d({quotient_up(at.size("nz"), local_z * at.parameter("ALONG") - 1) * local_z, at.size("ny"),
                      quotient_up(at.size("nx"), at.parameter("ACROSS"))},
                     local_z, at.parameter("LOCAL_A"));
}
Launch voxels(const Case& at) {
    return launch_3d({at.size("nx"), at.size("ny"), at.size("nz")}, at.parameter("LOCAL_X"), at.parameter("LOCAL_Y"));
}

// As the kernel has it: a GPU hands sums over one voxel after the other.
std::int64_t gathered_bytes(const Case& at) {
    const auto z = at.parameter("LOCAL_Z"), planes = at.parameter("LOCAL_A");
    const auto handed = at.device.type == DeviceType::cpu ? at.parameter("ACROSS") : 1;
    return planes * (8 * z + 32 * (z + 1) + 4 * z * at.parameter("ALONG") * handed);
}

TomographyVariant forward(const char* name, const char* summary, std::int64_t local_u, std::int64_t local_v,
                          std::int64_t unroll) {
    TomographyVariant row{{name,
                           summary,
                           {{"LOCAL_U", {1, 2, 4, 8, 16, 32}, local_u, "work-items of a group along the columns"},
                            {"LOCAL_V", {4, 8, 16, 32, 64, 128}, local_v, "work-items of a group along the rows"},
                            {"RAYS", {1, 2, 4}, 1, "rays of a column a work-item, LOCAL_V rows apart"},
                            {"UNROLL", {1, 2, 4, 8}, unroll, "planes a trip"}},
                           rays,
                           {group_fits("LOCAL_U", "LOCAL_V"), plane_fits()}}};
    row.family = "forward";
    return row;
}

}  // namespace

TomographyVariant tomography_joseph() {
    return forward("joseph", "rays through a padded copy of the volume, four taps with exact weights", 8, 32, 4);
}

TomographyVariant tomography_joseph_image() {
    auto row = forward("joseph_image", "rays through layers of an image, the texture unit interpolates", 16, 4, 2);
    row.needs = {"images"};
    return row;
}

TomographyVariant tomography_joseph_gather() {
    TomographyVariant row{
        {"joseph_gather",
         "cells between voxels gather the rays in them, column by column; rows parallel to z",
         {{"LOCAL_Z", {8, 16, 32, 64, 128}, 64, "work-items of a group along z, fewer for few slices"},
          {"LOCAL_A", {1, 2, 4, 8}, 2, "planes a group"},
          {"ACROSS", {1, 2, 4, 8, 16}, 8, "voxels across the rays a work-item"},
          {"ALONG", {1, 2, 4}, 1, "voxels along z a work-item, LOCAL_Z apart"},
          {"ROWS", {1, 2, 3, 4}, 3, "rows of a cell a trip"},
          {"VIEWS", {8, 16, 32, 64, 128}, 64, "views a launch, at most"}},
         columns_of_voxels,
         {group_fits("LOCAL_Z", "LOCAL_A"), needs_local_bytes(gathered_bytes), upright_scan()},
         {},
         {"upright"}}};
    row.family = "adjoint";
    return row;
}

TomographyVariant tomography_joseph_gather_any() {
    TomographyVariant row{{"joseph_gather_any",
                           "voxels gather from the rays in their neighbours' box on the detector; any scan",
                           {{"LOCAL_X", {8, 16, 32, 64}, 32, "work-items of a group along x"},
                            {"LOCAL_Y", {1, 2, 4, 8}, 4, "work-items of a group along y"}},
                           voxels,
                           {group_fits("LOCAL_X", "LOCAL_Y")}}};
    row.family = "adjoint";
    return row;
}

}  // namespace gpuopt
