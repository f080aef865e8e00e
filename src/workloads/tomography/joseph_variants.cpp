// The rows of Joseph's projectors.
#include <algorithm>
#include <array>

#include "workloads/tomography/joseph.hpp"

namespace gpuopt {
namespace {

using Rays = TomographyVariant::Rays;

Rule upright_scan() {
    return constraint([](const Case& at) { return at.size("upright"); },
                      "the detector's rows are not parallel to z, rays are steeper than they are "
                      "wide, or the scan has two dimensions; use joseph_gather_any");
}
Rule planar_scan() {
    return constraint([](const Case& at) { return at.size("planar"); },
                      "rays and volume do not lie in one plane, or rays cross in the volume; use joseph_gather_any");
}
Rule plane_fits() {
    return {.of_device = false, .unmet = [](const Case& at) {
                std::array<std::int64_t, 3> n{at.size("nx") + 36, at.size("ny") + 36, at.size("nz") + 36};
                std::sort(n.begin(), n.end());
                return n[1] * n[2] < INT32_MAX ? std::string() : "a plane of 2^31 voxels or more";
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
Launch groups_of_planes(const Case& at) {
    return launch_3d(
        {quotient_up(at.size("ny"), at.parameter("PLANES")), quotient_up(at.size("nx"), at.parameter("ACROSS")), 1}, 1,
        1);
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
                          std::int64_t unroll, Rays rays_go, std::vector<std::string> needs = {}) {
    return {{
                .name = name,
                .summary = summary,
                .parameters = {{"LOCAL_U", {1, 2, 4, 8, 16, 32}, local_u, "work-items of a group along the columns"},
                               {"LOCAL_V", {4, 8, 16, 32, 64, 128}, local_v, "work-items of a group along the rows"},
                               {"RAYS", {1, 2, 4}, 1, "rays of a column a work-item, LOCAL_V rows apart"},
                               {"UNROLL", {1, 2, 4, 8}, unroll, "planes a trip"}},
                .launch = rays,
                .rules = {work_group_fits("LOCAL_U", "LOCAL_V"), plane_fits()},
                .needs = std::move(needs),
                .family = "forward",
            },
            {
                .rays = rays_go,
            }};
}

}  // namespace

TomographyVariant tomography_joseph() {
    return forward("joseph", "rays through a padded copy of the volume, four taps with exact weights", 8, 32, 4,
                   Rays::through_copy);
}

TomographyVariant tomography_joseph_image() {
    return forward("joseph_image", "rays through layers of an image, the texture unit interpolates", 16, 4, 2,
                   Rays::through_images, {"images"});
}

TomographyVariant tomography_joseph_gather() {
    return {
        {
            .name = "joseph_gather",
            .summary = "cells between voxels gather the rays in them, column by column; rows parallel to z",
            .parameters = {{"LOCAL_Z", {8, 16, 32, 64, 128}, 64, "work-items of a group along z, fewer for few slices"},
                           {"LOCAL_A", {1, 2, 4, 8}, 2, "planes a group"},
                           {"ACROSS", {1, 2, 4, 8, 16}, 8, "voxels across the rays a work-item"},
                           {"ALONG", {1, 2, 4}, 1, "voxels along z a work-item, LOCAL_Z apart"},
                           {"ROWS", {1, 2, 3, 4}, 3, "rows of a cell a trip"},
                           {"VIEWS", {8, 16, 32, 64, 128}, 64, "views a launch, at most"}},
            .launch = columns_of_voxels,
            .rules = {work_group_fits("LOCAL_Z", "LOCAL_A"), needs_local_bytes(gathered_bytes), upright_scan()},
            .input_properties = {"upright"},
            .family = "adjoint",
        },
        {
            .rays = Rays::gather_in_cells,
        }};
}

TomographyVariant tomography_joseph_planes() {
    return {
        {
            .name = "joseph_planes",
            .summary = "for CPUs, of scans in a plane: planes across the rays take a view's rays one after the other",
            .parameters = {{"PLANES", {4, 8, 16}, 16, "planes a work-item, in explicit vectors"},
                           {"ACROSS", {64, 128, 256, 512, 1024}, 128, "voxels of a plane a work-item"}},
            .launch = groups_of_planes,
            .rules = {for_cpus(), needs_local_bytes([](const Case& at) {
                          return 8 * at.parameter("PLANES") * (at.parameter("ACROSS") + 3);
                      }),
                      planar_scan()},
            .input_properties = {"planar"},
            .family = "adjoint",
        },
        {
            .rays = Rays::gather_in_planes,
        }};
}

TomographyVariant tomography_joseph_gather_any() {
    return {{
                .name = "joseph_gather_any",
                .summary = "voxels gather from the rays in their neighbours' box on the detector; any scan",
                .parameters = {{"LOCAL_X", {8, 16, 32, 64}, 32, "work-items of a group along x"},
                               {"LOCAL_Y", {1, 2, 4, 8}, 4, "work-items of a group along y"}},
                .launch = voxels,
                .rules = {work_group_fits("LOCAL_X", "LOCAL_Y")},
                .family = "adjoint",
            },
            {
                .rays = Rays::gather_in_voxels,
            }};
}

}  // namespace gpuopt
