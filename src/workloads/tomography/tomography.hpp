// Tomography: voxel-driven back projection of views into a volume (Jang 2009), and projectors that go along rays.
#pragma once

#include <array>

#include "runtime/interrupt.hpp"
#include "workloads/prepared.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

// Case sizes: "nx", "ny", "nz" of the volume, "views", "rows", "columns" of the projections; 1 or 0 for "curved",
// "upright" (rows parallel to z), "planar" (rays and volume in one plane), "equiangular" (an upright arc about a source
// that circles z) and "along_x" (a launch's beams run nearer to x than to y). Families: "back_projection" and those of
// projectors.
struct TomographyDetails {
    // What a back projector reads: the projections themselves, or copies in images, as an arc, copies with zeros around
    // them, such copies transposed, or layers of images.
    enum class Reads { nothing, arc, padded, transposed, layers } reads = Reads::nothing;
    std::function<Work(const Case&)> work{};  // of a whole back projection, "dram" aside
    int stream = 1;                           // elements of the views' streams that a kernel for an arc reads at once
    // How a projector goes along rays: forward through a padded copy of the volume or through layers of an image;
    // adjoint by gathering in cells, for scans whose rows are parallel to z, in planes, for scans in a plane, or in
    // voxels, for any scan.
    enum class Rays {
        none,
        through_copy,
        through_images,
        gather_in_cells,
        gather_in_planes,
        gather_in_voxels
    } rays = Rays::none;
};
struct TomographyVariant : Variant, TomographyDetails {};

// A scan and the volume it looks at; mm, fp64.
struct TomographyGeometry {
    int dimensions = 3;
    std::int64_t views = 0, rows = 1, columns = 0;   // of the projections [view, row, column]
    std::array<std::int64_t, 3> count{1, 1, 1};      // of the volume [z, y, x]: x, y, z
    std::array<double, 3> voxel{1, 1, 1}, middle{};  // x, y, z: sizes, and where the volume's middle lies
    bool parallel = false;
    double radius = 0;           // of a curved detector; 0: flat
    std::vector<double> frames;  // 12 a view: source (of parallel beams the direction to it), centre, column, row

    std::array<double, 3> vector(std::int64_t view, std::int64_t which) const;
    std::int64_t voxels() const { return count[0] * count[1] * count[2]; }
    std::int64_t pixels() const { return views * rows * columns; }
    double cell() const;  // volume of a voxel; in 2D its area
};

enum class BackWeight { none = 0, fdk = 1, adjoint = 2 };

// What of a scan decides which kernels are for it, and how they are built.
struct ScanProperties {
    bool curved = false, upright = false, equiangular = false;
};
ScanProperties properties_of(const TomographyGeometry& geometry);

// Whether the middle beams of some views run nearer to x than to y.
bool run_along_x(const TomographyGeometry& geometry, std::int64_t first, std::int64_t count);

// Throws ParameterError where a number of a kernel's tables became NaN or infinite in fp32.
void require_fp32(const float* numbers, std::size_t count);

// The numbers that kernels/tomography/include/tomography.cl reads, `view_floats` for each view. `fdk` is the square of
// the factor of a flat detector's 1 / w in its weight.
constexpr std::int64_t view_floats = 20;
std::vector<float> view_records(const TomographyGeometry& geometry, BackWeight weight, double fdk);
// The arc's own numbers, and streams of angle, height, sine and cosine, each as long as the views rounded up to 4.
constexpr std::size_t arc_stream_count = 4;
std::array<float, 16> arc_numbers(const TomographyGeometry& geometry, BackWeight weight);
std::vector<float> arc_streams(const TomographyGeometry& geometry);

struct BackProjection {
    std::shared_ptr<Buffer> projections, volume;
    TomographyGeometry geometry;
    BackWeight weight = BackWeight::none;
    double fdk = 1;           // see view_records
    bool accumulate = false;  // adds to what the volume holds
};

// A bound plan whose volume and projections may be exchanged between runs.
class ProjectorPlan {
public:
    struct Place {
        std::size_t step;
        cl_uint argument;
        bool volume;
    };
    using Arrays = std::vector<std::shared_ptr<Buffer>>;
    // What commands that are no kernels read the projections from.
    using Read = std::shared_ptr<Buffer>;
    ProjectorPlan(std::shared_ptr<Prepared> prepared, std::vector<Place> places, std::shared_ptr<Arrays> arrays,
                  const TomographyGeometry& geometry, std::shared_ptr<Read> read = nullptr)
        : voxels(geometry.voxels()),
          pixels(geometry.pixels()),
          prepared_(std::move(prepared)),
          places_(std::move(places)),
          arrays_(std::move(arrays)),
          read_(std::move(read)) {}

    const std::int64_t voxels, pixels;  // of the arrays that it takes
    const std::shared_ptr<Session>& session() const { return prepared_->session(); }
    // The plan on the arrays that it was made with, for timing. Throws ParameterError once the plan was started.
    const std::shared_ptr<Prepared>& prepared();
    // Enqueues the plan on these arrays, and does not wait on a GPU: the driver keeps what it works on. Afterwards the
    // plan holds no arrays.
    void start(const std::shared_ptr<Buffer>& volume, const std::shared_ptr<Buffer>& projections);

private:
    std::shared_ptr<Prepared> prepared_;
    std::vector<Place> places_;
    std::shared_ptr<Arrays> arrays_;
    std::shared_ptr<Read> read_;
    bool started_ = false;
    PatientMutex mutex_;
};

// The plan of f = sum over views of W bilinear(p), or f += ...; views that do not fit the device's images or memory at
// once come in blocks. Throws ParameterError, UnsupportedError, KernelBuildError, DeviceMemoryError.
std::shared_ptr<Prepared> prepare_back_projection(const std::shared_ptr<Session>& session,
                                                  const BackProjection& arguments, const std::string& variant,
                                                  const Parameters& parameters);
// The same plan, whose arrays may be exchanged.
std::shared_ptr<ProjectorPlan> plan_back_projection(const std::shared_ptr<Session>& session,
                                                    const BackProjection& arguments, const std::string& variant,
                                                    const Parameters& parameters);

}  // namespace gpuopt
