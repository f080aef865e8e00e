// Back projection and projection along rays as plain loops, for arcs of detectors about a source that circles z: what a
// person writes first for one core; compiled with OpenMP, the same on several. Values are float; sums and places of
// projections along rays are double.
#include <algorithm>
#include <cmath>

namespace {

struct Scan {
    double cell[3], first[3], sod, channels, middle_channel, rows, middle_row, factor;
};
struct Counts {
    long views, nx, ny, nz, columns, rows;
};

float pixel(const float* view, long column, long row, const Counts& n) {
    if (column < 0 || column >= n.columns || row < 0 || row >= n.rows) return 0;
    return view[row * n.columns + column];
}

float weight_of(long weight, float factor, float square, float w) {
    if (weight == 1) return 1 / square;
    if (weight == 2) return factor * std::sqrt(1 + w * w / square) / square;
    return 1;
}

// The places at + i step, i from `low` to `high`, that are above -1 and below n.
void clip(double at, double step, long n, long& low, long& high) {
    if (step == 0) {
        if (at <= -1 || at >= n) high = low;
        return;
    }
    const double a = (-1 - at) / step, b = (n - at) / step;
    low = std::max(low, static_cast<long>(std::clamp(std::ceil(std::min(a, b)), -1e9, 1e9)));
    high = std::min(high, static_cast<long>(std::clamp(std::floor(std::max(a, b)), -1e9, 1e9)) + 1);
}

}  // namespace

// weight: 0 none, 1 fdk, 2 adjoint. The volume is overwritten.
extern "C" void back_project(const float* projections, float* volume, const double* angles, const double* heights,
                             const long* counts, const double* numbers, long weight) {
    const Counts& n = *reinterpret_cast<const Counts*>(counts);
    const Scan& scan = *reinterpret_cast<const Scan*>(numbers);
    std::fill(volume, volume + n.nx * n.ny * n.nz, 0.0f);
    const float sod = scan.sod, channels = scan.channels, middle_channel = scan.middle_channel, rows = scan.rows,
                middle_row = scan.middle_row, factor = scan.factor;
    for (long i = 0; i < n.views; ++i) {
        const float* view = projections + i * n.rows * n.columns;
        const float sine = std::sin(angles[i]), cosine = std::cos(angles[i]), height = heights[i];
#pragma omp parallel for collapse(2)
        for (long z = 0; z < n.nz; ++z)
            for (long y = 0; y < n.ny; ++y)
                for (long x = 0; x < n.nx; ++x) {
                    const float px = scan.first[0] + x * scan.cell[0], py = scan.first[1] + y * scan.cell[1];
                    const float w = static_cast<float>(scan.first[2] + z * scan.cell[2]) - height;
                    const float s = px * cosine + py * sine, depth = sod - (px * sine - py * cosine);
                    const float square = s * s + depth * depth;
                    const float u =
                        std::clamp(std::atan2(s, depth) * channels + middle_channel, -2.0f, n.columns + 1.0f);
                    const float v = std::clamp(w / std::sqrt(square) * rows + middle_row, -2.0f, n.rows + 1.0f);
                    const long column = static_cast<long>(std::floor(u)), row = static_cast<long>(std::floor(v));
                    const float right = u - column, down = v - row;
                    const float upper =
                        (1 - right) * pixel(view, column, row, n) + right * pixel(view, column + 1, row, n);
                    const float lower =
                        (1 - right) * pixel(view, column, row + 1, n) + right * pixel(view, column + 1, row + 1, n);
                    volume[(z * n.ny + y) * n.nx + x] +=
                        weight_of(weight, factor, square, w) * ((1 - down) * upper + down * lower);
                }
    }
}

// Joseph's method: in each plane of voxels across the ray's main axis, x or y, the image is interpolated bilinearly.
extern "C" void project(const float* volume, float* projections, const double* angles, const double* heights,
                        const long* counts, const double* numbers) {
    const Counts& n = *reinterpret_cast<const Counts*>(counts);
    const Scan& scan = *reinterpret_cast<const Scan*>(numbers);
    const long size[3] = {n.nx, n.ny, n.nz}, stride[3] = {1, n.nx, n.nx * n.ny};
    for (long i = 0; i < n.views; ++i) {
        const double sine = std::sin(angles[i]), cosine = std::cos(angles[i]);
        const double source[3] = {scan.sod * sine, -scan.sod * cosine, heights[i]};
#pragma omp parallel for collapse(2) schedule(dynamic, 64)
        for (long row = 0; row < n.rows; ++row)
            for (long column = 0; column < n.columns; ++column) {
                const double beta = (column - scan.middle_channel) / scan.channels,
                             slope = (row - scan.middle_row) / scan.rows;
                const double along[3] = {std::sin(beta) * cosine - std::cos(beta) * sine,
                                         std::sin(beta) * sine + std::cos(beta) * cosine, slope};
                double start[3], step[3];  // in voxels, a mm of the ray seen along z
                for (int axis = 0; axis < 3; ++axis) {
                    start[axis] = (source[axis] - scan.first[axis]) / scan.cell[axis];
                    step[axis] = along[axis] / scan.cell[axis];
                }
                const int main = std::abs(step[0]) >= (1 - 1e-5) * std::abs(step[1]) ? 0 : 1, other = 1 - main;
                // Places along the other axes, in each plane of the main one.
                const double b_step = step[other] / step[main], c_step = step[2] / step[main];
                const double b_first = start[other] - start[main] * b_step, c_first = start[2] - start[main] * c_step;
                long low = 0, high = size[main];
                clip(b_first, b_step, size[other], low, high);
                clip(c_first, c_step, n.nz, low, high);
                double sum = 0;
                for (long plane = low; plane < high; ++plane) {
                    const double b = b_first + plane * b_step, c = c_first + plane * c_step;
                    const long j = static_cast<long>(std::floor(b)), k = static_cast<long>(std::floor(c));
                    const double right = b - j, up = c - k;
                    const auto at = [&](long jj, long kk) -> double {
                        if (jj < 0 || jj >= size[other] || kk < 0 || kk >= n.nz) return 0;
                        return volume[plane * stride[main] + jj * stride[other] + kk * stride[2]];
                    };
                    sum += (1 - up) * ((1 - right) * at(j, k) + right * at(j + 1, k)) +
                           up * ((1 - right) * at(j, k + 1) + right * at(j + 1, k + 1));
                }
                projections[(i * n.rows + row) * n.columns + column] =
                    static_cast<float>(sum * std::sqrt(1 + slope * slope) / std::abs(step[main]));
            }
    }
}
