// Joseph's projector along rays, and its exact adjoint, which gathers: no atomics, the same weights.
#pragma once

#include "runtime/image.hpp"
#include "workloads/tomography/tomography.hpp"

namespace gpuopt {

// Of family "forward": through a padded copy of the volume with exact weights, or through images with the texture
// unit's weights. Of family "adjoint": for scans whose rows are parallel to z, for scans in a plane, and for any scan.
TomographyVariant tomography_joseph();
TomographyVariant tomography_joseph_image();
TomographyVariant tomography_joseph_gather();
TomographyVariant tomography_joseph_planes();
TomographyVariant tomography_joseph_gather_any();

// Components of a direction that differ by less than this share count as equal; the first of them is then the main
// axis, so that rounding does not choose it.
constexpr double joseph_equal = 1e-5;

// Columns of a view whose rays share a main axis, in the order in which they cross the volume's other axis. A negative
// count says that the columns descend. The layout is the kernels' int4.
struct JosephRun {
    std::int32_t view, column, count, line;
};

// Rays as kernels read them. Indices of voxels are whole numbers counted from the middle one, n / 2, so that fp32 keeps
// its digits.
//
// Upright (rows parallel to z, and no ray steeper than it is wide): a line is B0 B1 C0 C1 E0 E1. On plane k of the main
// axis the rays of its column lie at B0 + k B1 along the other axis, and at C0 + k C1 + j (E0 + k E1) in z, j the row.
// Planar (of two dimensions): the same with B0 and B1 alone.
// Any: a line is a direction and a moment (place x direction) of a column's middle row, each as four numbers; what a
// row adds to them is a step.
struct JosephTables {
    enum class Form { any, upright, planar } form = Form::any;
    bool sorted() const { return form != Form::any; }
    std::array<std::vector<JosephRun>, 3> runs;  // by main axis
    std::vector<float> lines, steps;             // 8 numbers each
};
// `any` asks for the last form whatever the scan.
JosephTables joseph_tables(const TomographyGeometry& geometry, bool any = false);

// The same scan in two dimensions, where volume and rays lie in one plane across z; else the scan itself.
TomographyGeometry flattened(const TomographyGeometry& geometry);

// Samples that rays take inside the volume: counted, of very many rays estimated from evenly spread ones.
double joseph_samples(const TomographyGeometry& geometry, const JosephTables& tables);

// Device memory that plans of one projector share: they run one after the other.
class JosephScratch {
public:
    explicit JosephScratch(std::shared_ptr<Session> session) : session_(std::move(session)) {}
    std::shared_ptr<Buffer> buffer(std::size_t bytes, const std::string& what);
    std::shared_ptr<ImageStack> layers(const std::array<std::size_t, 3>& size);  // width, height, how many
    const std::shared_ptr<Session>& session() const { return session_; }

private:
    std::shared_ptr<Session> session_;
    PatientMutex mutex_;
    std::shared_ptr<Buffer> buffer_;
    std::map<std::array<std::size_t, 3>, std::shared_ptr<ImageStack>> layers_;
};

struct JosephArguments {
    std::shared_ptr<Buffer> volume, projections;
    TomographyGeometry geometry;
    bool accumulate = false;  // adds to what the result holds
};

// p = A f by a variant of family "forward", f = A^T p by one of family "adjoint". Throws ParameterError,
// UnsupportedError, KernelBuildError, DeviceMemoryError.
std::shared_ptr<ProjectorPlan> prepare_joseph(const std::shared_ptr<JosephScratch>& scratch,
                                              const JosephArguments& arguments, const std::string& variant,
                                              const Parameters& parameters);

}  // namespace gpuopt
