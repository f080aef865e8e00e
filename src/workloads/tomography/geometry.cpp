// What kernels need of a scan, from its free vectors.
#include <algorithm>
#include <cmath>

#include "workloads/tomography/tomography.hpp"

namespace gpuopt {
namespace {

using Vector = std::array<double, 3>;
using Row = std::array<double, 4>;  // coefficients of (x, y, z, 1)

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vector minus(const Vector& a, const Vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Vector times(double factor, const Vector& a) { return {factor * a[0], factor * a[1], factor * a[2]}; }
double length(const Vector& a) { return std::sqrt(dot(a, a)); }

// X -> direction . X + constant, for X in mm, as a row for voxel indices that count from the volume's middle.
Row row_of(const TomographyGeometry& geometry, const Vector& direction, double constant) {
    Row row{};
    for (std::size_t axis = 0; axis < 3; ++axis) row[axis] = direction[axis] * geometry.voxel[axis];
    row[3] = dot(direction, geometry.middle) + constant;
    return row;
}

struct Frame {
    Vector source, centre, column, row;
};
Frame frame_of(const TomographyGeometry& geometry, std::int64_t view) {
    return {geometry.vector(view, 0), geometry.vector(view, 1), geometry.vector(view, 2), geometry.vector(view, 3)};
}

// w column, w row and w, columns and rows counted from the detector's middle; w is 1 / magnification, 1 of parallel
// beams.
std::array<Row, 3> matrix_of(const TomographyGeometry& geometry, const Frame& at) {
    const auto normal = cross(at.column, at.row);
    const auto uu = dot(at.column, at.column), vv = dot(at.row, at.row), uv = dot(at.column, at.row);
    const auto determinant = uu * vv - uv * uv;
    const std::array<Vector, 2> duals = {times(1 / determinant, minus(times(vv, at.column), times(uv, at.row))),
                                         times(1 / determinant, minus(times(uu, at.row), times(uv, at.column)))};
    std::array<Row, 3> found{};
    if (geometry.parallel) {
        for (std::size_t i = 0; i < 2; ++i) {
            const auto slope = dot(duals[i], at.source) / dot(at.source, normal);
            const auto along = minus(duals[i], times(slope, normal));
            found[i] = row_of(geometry, along, -dot(along, at.centre));
        }
        found[2] = {0, 0, 0, 1};
        return found;
    }
    const auto away = minus(at.centre, at.source);
    const auto depth = times(1 / dot(away, normal), normal);
    const auto of_depth = -dot(at.source, depth);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto shift = -dot(duals[i], away);
        Vector direction;
        for (std::size_t axis = 0; axis < 3; ++axis) direction[axis] = duals[i][axis] + shift * depth[axis];
        found[i] = row_of(geometry, direction, -dot(duals[i], at.source) + shift * of_depth);
    }
    found[2] = row_of(geometry, depth, of_depth);
    return found;
}

void put(std::vector<float>& to, const Row& row) {
    for (const auto value : row) to.push_back(static_cast<float>(value));
}

void add_flat(std::vector<float>& to, const TomographyGeometry& geometry, const Frame& at, BackWeight weight,
              double fdk) {
    for (const auto& row : matrix_of(geometry, at)) put(to, row);
    const auto normal = cross(at.column, at.row);
    double factor = weight == BackWeight::fdk ? fdk : 1;
    if (weight == BackWeight::adjoint && geometry.parallel)
        factor = geometry.cell() * length(at.source) / std::abs(dot(at.source, normal));
    else if (weight == BackWeight::adjoint)
        factor = geometry.cell() / std::abs(dot(minus(at.centre, at.source), normal));
    for (std::size_t axis = 0; axis < 3; ++axis)
        to.push_back(static_cast<float>(at.source[axis] - geometry.middle[axis]));
    to.push_back(static_cast<float>(factor));
}

// In units of some radius, a power of two so that nothing rounds: fourth powers of mm would leave fp32.
void add_curved(std::vector<float>& to, const TomographyGeometry& geometry, const Frame& at, BackWeight weight) {
    const auto unit = std::exp2(double(std::ilogb(geometry.radius)));
    const auto du = length(at.column), dv = length(at.row), radius = geometry.radius / unit;
    const auto side = times(1 / du, at.column), up = times(1 / dv, at.row), inwards = cross(side, up);
    const auto before = minus(at.source, at.centre);
    for (const auto& direction : {side, up, inwards}) {
        auto row = row_of(geometry, direction, -dot(direction, at.source));
        for (auto& coefficient : row) coefficient /= unit;
        put(to, row);
    }
    // Of the source, seen from the detector's middle; the cylinder's axis lies the radius inwards from there.
    const auto of_side = dot(before, side) / unit, depth = dot(before, inwards) / unit, of_inwards = depth - radius;
    // Of FDK 1 / mm^2, of the adjoint a volume by an area.
    const auto factor = weight == BackWeight::adjoint ? geometry.cell() * radius / (du * dv)
                        : weight == BackWeight::fdk   ? 1 / (unit * unit)
                                                      : 1.0;
    // The last is radius^2 - of_side^2 - of_inwards^2, which keeps its digits where the radius is very large.
    for (const auto value : {of_inwards, of_side, unit / dv, factor, dot(before, up) / dv, geometry.radius / du,
                             radius * radius, (2 * radius - depth) * depth - of_side * of_side})
        to.push_back(static_cast<float>(value));
}

bool nearly(double value, double scale) { return std::abs(value) <= 1e-10 * scale; }

// Whether what column and 1 / w of no voxel change along z by as much as fp32 could tell.
bool is_upright(const TomographyGeometry& geometry, const Frame& at) {
    if (geometry.radius > 0) return nearly(at.row[0], length(at.row)) && nearly(at.row[1], length(at.row));
    const auto matrix = matrix_of(geometry, at);
    const auto height = double(geometry.count[2]);
    return nearly(height * matrix[0][2], double(geometry.columns)) && nearly(height * matrix[2][2], 1);
}

double sod_of(const Frame& at) { return std::hypot(at.source[0], at.source[1]); }

// Where an arc's middle lies in the source's own frame: the angle at the source and the height.
std::array<double, 2> middle_of_arc(const Frame& at) {
    const auto sod = sod_of(at), sin = at.source[0] / sod, cos = -at.source[1] / sod;
    const auto away = minus(at.centre, at.source);
    return {std::atan2(away[0] * cos + away[1] * sin, -away[0] * sin + away[1] * cos), away[2]};
}

bool is_equiangular(const TomographyGeometry& geometry, const Frame& at, const Frame& first) {
    const auto distance = std::hypot(at.centre[0] - at.source[0], at.centre[1] - at.source[1]), sod = sod_of(at);
    if (!(sod > 0) || !nearly(distance - geometry.radius, 10 * distance)) return false;
    const auto middle = middle_of_arc(at), wanted = middle_of_arc(first);
    return nearly(sod - sod_of(first), 10 * sod) && nearly(middle[0] - wanted[0], 10) &&
           nearly(middle[1] - wanted[1], 10 * distance) && nearly(length(at.column) - length(first.column), sod) &&
           nearly(length(at.row) - length(first.row), sod) && at.row[2] > 0;
}

}  // namespace

std::array<double, 3> TomographyGeometry::vector(std::int64_t view, std::int64_t which) const {
    const auto* from = frames.data() + 12 * view + 3 * which;
    return {from[0], from[1], from[2]};
}

double TomographyGeometry::cell() const { return voxel[0] * voxel[1] * (dimensions == 3 ? voxel[2] : 1); }

ScanProperties properties_of(const TomographyGeometry& geometry) {
    ScanProperties properties{geometry.radius > 0, true, geometry.radius > 0};
    if (geometry.views == 0) return properties;
    const auto first = frame_of(geometry, 0);
    for (std::int64_t view = 0; view < geometry.views; ++view) {
        const auto at = frame_of(geometry, view);
        properties.upright = properties.upright && is_upright(geometry, at);
        properties.equiangular = properties.equiangular && properties.upright && is_equiangular(geometry, at, first);
    }
    return properties;
}

bool run_along_x(const TomographyGeometry& geometry, std::int64_t first, std::int64_t count) {
    double x = 0, y = 0;
    for (auto view = first; view < first + count; ++view) {
        const auto at = frame_of(geometry, view);
        const auto beam = geometry.parallel ? at.source : minus(at.centre, at.source);
        x += std::abs(beam[0]) / length(beam);
        y += std::abs(beam[1]) / length(beam);
    }
    return x > y;
}

void require_fp32(const float* numbers, std::size_t count) {
    if (!std::all_of(numbers, numbers + count, [](float value) { return std::isfinite(value); }))
        throw ParameterError("geometry", "lengths of the scan and the volume differ by more than fp32 can hold",
                             "give lengths that are less unlike, or in another unit");
}

std::vector<float> view_records(const TomographyGeometry& geometry, BackWeight weight, double fdk) {
    std::vector<float> records;
    records.reserve(static_cast<std::size_t>(geometry.views * view_floats));
    for (std::int64_t view = 0; view < geometry.views; ++view) {
        const auto at = frame_of(geometry, view);
        if (geometry.radius > 0) add_curved(records, geometry, at, weight);
        else add_flat(records, geometry, at, weight, fdk);
        records.resize(static_cast<std::size_t>((view + 1) * view_floats));
    }
    require_fp32(records.data(), records.size());
    return records;
}

std::array<float, 16> arc_numbers(const TomographyGeometry& geometry, BackWeight weight) {
    const auto at = frame_of(geometry, 0);
    const auto du = length(at.column), dv = length(at.row), distance = geometry.radius;
    const auto middle = middle_of_arc(at);
    std::array<float, 16> numbers{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto half = 0.5 * double(geometry.count[axis] - 1) * geometry.voxel[axis];
        numbers[axis] = static_cast<float>(geometry.voxel[axis]);
        numbers[3 + axis] = static_cast<float>(geometry.middle[axis] - half);
    }
    numbers[6] = static_cast<float>(sod_of(at));
    numbers[7] = static_cast<float>(distance / du);
    numbers[8] = static_cast<float>(0.5 * double(geometry.columns - 1) - middle[0] * distance / du);
    numbers[9] = static_cast<float>(distance / dv);
    numbers[10] = static_cast<float>(0.5 * double(geometry.rows - 1) - middle[1] / dv);
    const auto power = geometry.dimensions == 3 ? distance * distance : distance;
    numbers[11] = static_cast<float>(weight == BackWeight::adjoint ? geometry.cell() * power / (du * dv) : 1);
    require_fp32(numbers.data(), numbers.size());
    return numbers;
}

std::vector<float> arc_streams(const TomographyGeometry& geometry) {
    const auto padded = (geometry.views + 3) / 4 * 4;
    std::vector<float> streams(arc_stream_count * static_cast<std::size_t>(padded));
    for (std::int64_t i = 0; i < padded; ++i) {
        const auto at = frame_of(geometry, std::min(i, geometry.views - 1));
        const auto angle = std::atan2(at.source[0], -at.source[1]);
        const std::array<double, arc_stream_count> values = {angle, at.source[2], std::sin(angle), std::cos(angle)};
        for (std::size_t k = 0; k < arc_stream_count; ++k)
            streams[k * static_cast<std::size_t>(padded) + static_cast<std::size_t>(i)] = static_cast<float>(values[k]);
    }
    return streams;
}

}  // namespace gpuopt
