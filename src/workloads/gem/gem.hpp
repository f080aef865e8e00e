// GEM: the electrostatic potential of a molecule at points on and around its surface, a closed-form solvent model
// summed over all pairs of an atom and a point (Fenley, Gordon, Onufriev 2008; Daga, Scogland, Feng 2011).
#pragma once

#include "workloads/gem/model.hpp"
#include "workloads/prepared.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

struct GemDetails {
    std::function<GemForm(const Case&)> form;         // literal or minimal
    std::function<bool(const Case&)> by_component{};  // atoms as all x, all y, ... instead of (x, y, z, q) each
    std::function<std::int64_t(const Case&)> step;    // atoms come in multiples of it
    bool parts = false;  // work-groups may split the atoms; its kernel takes squares, centres and sums
    std::function<std::int64_t(const Case&)> group{};  // work-items of a work-group, of a variant with a level LOCAL=0
};
struct GemVariant : Variant, GemDetails {
    std::int64_t vertices_a_group(const Case& at) const;
};

namespace gem {

// The power of two that is the width of an image of so many texels, as high as it is wide or less.
int log_width(std::int64_t texels);

}  // namespace gem

// The input of a sum over all pairs. Arrays lie on the host, of one dtype (f32 or f64) but for inner and r, and are
// read once, when a plan is made.
struct GemArguments {
    DType dtype = DType::f32;
    std::int64_t atoms = 0, points = 0;
    const void* xyz = nullptr;      // (atoms, 3), A
    const void* charge = nullptr;   // (atoms,), e
    const double* inner = nullptr;  // (atoms,), A: distance from the centre, r_i; null where no point lies inside
    const void* place = nullptr;    // (points, 3), A
    const void* shift = nullptr;    // (points, 3), A: from a point to the edge of the ion-free layer; null without salt
    const double* r = nullptr;      // (points,), A: a point's distance from the centre
    double nearest = 0;             // A: closer atoms count as at this distance; 0: as they lie
    GemModel model{};
    std::shared_ptr<Buffer> phi{};  // (points,), kcal/(mol e): the result
};

// Throws ArrayError for more than 2^28 atoms or points, ParameterError, UnsupportedError,
// KernelBuildError, DeviceMemoryError.
std::shared_ptr<Prepared> prepare_gem(const GemArguments& arguments, const std::string& variant,
                                      const Parameters& parameters);

// Computes it by a plan that an earlier call of the same kind left, or by a new one.
void run_gem(const GemArguments& arguments, const std::string& variant, const Parameters& parameters);

}  // namespace gpuopt
