// Joseph's method in voxels. Along its main axis a ray visits the planes; on plane k it lies at b0 + k b1 along the first of the other
// axes and at c0 + k c1 along the second. All indices count from the middle ones, n / 2. A run is columns of a view that share a main
// axis: view, first column, count (negative: columns fall), first line. Upright: a line is b0 b1 c0 c1 and what a row adds to the last
// two. ANY: a line is the direction and the moment of a column's middle row, a step what a row adds to them; MAIN is 0, 1, 2 for x, y, z.
#ifndef ANY
#define ANY 0
#endif
#ifndef PLANAR
#define PLANAR 0
#endif
#ifndef MAIN
#define MAIN 0
#endif
#define RUN_COUNT(run) ((run).z < 0 ? -(run).z : (run).z)
#define RUN_COLUMN(run, n) ((run).z < 0 ? (run).y - (n) : (run).y + (n))

typedef struct {
    float b0, b1, c0, c1;
} Ray;

// Added to a float below 2^22 it leaves the nearest whole number in the low bits: a floor by two adds, which run at full rate, where
// conversions run at a quarter of it on GPUs. A place halfway may go either way, with weights that fit.
#define WHOLE 12582912.0f

inline int main_axis(const float4 direction) {
    const float4 size = fabs(direction);
#if PLANAR
    return size.x >= 0.99999f * size.y ? 0 : 1;
#else
    return size.x >= 0.99999f * fmax(size.y, size.z) ? 0 : size.y >= 0.99999f * size.z ? 1 : 2;
#endif
}

// The ray of a direction and a moment whose main axis is MAIN.
inline Ray ray_along(const float4 direction, const float4 moment) {
    Ray ray;
#if MAIN == 0
    const float r = 1 / direction.x;
    ray.b0 = -moment.z * r, ray.b1 = direction.y * r, ray.c0 = moment.y * r, ray.c1 = direction.z * r;
#elif MAIN == 1
    const float r = 1 / direction.y;
    ray.b0 = moment.z * r, ray.b1 = direction.x * r, ray.c0 = -moment.x * r, ray.c1 = direction.z * r;
#else
    const float r = 1 / direction.z;
    ray.b0 = -moment.y * r, ray.b1 = direction.x * r, ray.c0 = moment.x * r, ray.c1 = direction.y * r;
#endif
    return ray;
}

// The first of `count` sorted lines that on plane k lies beyond a place.
inline int first_beyond(global const float4 *restrict line, const int count, const float k, const float place) {
    int n = 0;
    for (int beyond = count; n < beyond;) {
        const int middle = (n + beyond) / 2;
        const float4 at = line[2 * middle];
        if (fma(k, at.y, at.x) > place) beyond = middle;
        else n = middle + 1;
    }
    return n;
}

// mm from a plane to the next; `cell` is a voxel's size along the main axis and the other two.
inline float between_planes(const float b1, const float c1, const float4 cell) {
    const float along_b = b1 * cell.y, along_c = c1 * cell.z;
    return sqrt(fma(along_b, along_b, fma(along_c, along_c, cell.x * cell.x)));
}

// Those of `planes`, from and to, where low <= place + k slope <= high; empty where the first is beyond the second.
inline float2 planes_within(const float2 planes, const float place, const float slope, const float low, const float high) {
    if (slope == 0) return place >= low && place <= high ? planes : (float2)(1, -1);
    const float one = (low - place) / slope, other = (high - place) / slope;
    return (float2)(fmax(planes.x, fmin(one, other)), fmin(planes.y, fmax(one, other)));
}
