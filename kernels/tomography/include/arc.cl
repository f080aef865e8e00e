// The geometry assumed for Jang et al. 2009: a source that circles z, and may rise, before an arc of detectors about the source. Streams
// of all views: angle, height of the source, sine, cosine. `arc` holds a voxel's sizes and the first one's place (mm), the source's
// distance from z, channels a radian and the middle channel, rows a unit of height / distance and the middle row, a factor. Projections
// and streams lie in buffers, or with TEXTURE in images that are read without interpolation, as Brook+ keeps its streams.
#ifndef WEIGHT
#define WEIGHT 0
#endif
#ifndef DIMENSIONS
#define DIMENSIONS 3
#endif
#ifndef LOCAL_X
#define LOCAL_X 16
#define LOCAL_Y 16
#endif
#ifndef NATIVE
#define NATIVE 1
#endif
#ifndef TABLE
#define TABLE 0
#endif
#ifndef TEXTURE
#define TEXTURE 0
#endif
#ifndef STREAM  // elements of a stream at once
#define STREAM 1
#endif

#if TEXTURE
#define PROJECTIONS read_only image2d_array_t projections
#define STREAMS read_only image2d_t streams
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
typedef int View;
#define VIEW(index) ((View)(index))
#define PIXEL(column, row) read_imagef(projections, nearest, (int4)(column, row, view, 0)).x
#if STREAM == 4
#define OF_STREAM(number, index) read_imagef(streams, nearest, (int2)(index, number))
#else
#define OF_STREAM(number, index) read_imagef(streams, nearest, (int2)(index, number)).x
#endif
#else
#define PROJECTIONS global const float *restrict projections
#define STREAMS global const float *restrict streams
typedef global const float *View;
#define VIEW(index) (projections + (size_t)(index) * rows * columns)
#define PIXEL(column, row) view[(row) * columns + (column)]
#if STREAM == 4
#define OF_STREAM(number, index) vload4((views + 3) / 4 * (number) + (index), streams)
#else
#define OF_STREAM(number, index) streams[(views + 3) / 4 * 4 * (number) + (index)]
#endif
#endif

#define ARC_ARGUMENTS                                                                                                                  \
    PROJECTIONS, global float *restrict volume, STREAMS, const int views, const int nx, const int ny, const int nz, const int columns, \
        const int rows, const int accumulate, const float16 arc
#define ARC_KERNEL kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void

#define CELL arc.s012
#define FIRST arc.s345
#define SOD arc.s6
#define CHANNELS arc.s7
#define MIDDLE_CHANNEL arc.s8
#define ROWS arc.s9
#define MIDDLE_ROW arc.sa
#define FACTOR arc.sb

// Brook+ compiles these to instructions, of which GPUs have their own. CPUs have none: their native functions are estimates of 11 to 14
// bits, too coarse for a place on the detector (of Intel's runtime, 2026-11).
#if NATIVE && defined(GPU)
#define HARDWARE 1
#else
#define HARDWARE 0
#endif
#if HARDWARE
#define SINE(angle) native_sin(angle)
#define COSINE(angle) native_cos(angle)
#define RECIP(x) native_recip(x)
#define ROOT(x) native_sqrt(x)
#else
#define SINE(angle) sin(angle)
#define COSINE(angle) cos(angle)
#define RECIP(x) (1.0f / (x))
#define ROOT(x) sqrt(x)
#endif
#define ANGLE(index) OF_STREAM(0, index)
#define HEIGHT(index) OF_STREAM(1, index)
// Declares the sine and the cosine of a view, or of four.
#if TABLE
#define SINE_AND_COSINE(type, index) const type sine = OF_STREAM(2, index), cosine = OF_STREAM(3, index)
#else
#define SINE_AND_COSINE(type, index) const type angle = ANGLE(index), sine = SINE(angle), cosine = COSINE(angle)
#endif

// W of a voxel at the height w above a source as far away as `square` says.
#if WEIGHT == 1
#define ARC_WEIGHT(square, w) RECIP(square)
#elif WEIGHT == 2 && DIMENSIONS == 3
#define ARC_WEIGHT(square, w) (FACTOR * ROOT(1 + (w) * (w)*RECIP(square)) * RECIP(square))
#elif WEIGHT == 2
#define ARC_WEIGHT(square, w) (FACTOR * RECIP(ROOT(square)))
#else
#define ARC_WEIGHT(square, w) FACTOR
#endif

// A pixel; outside of the detector 0, and none is fetched.
inline float tap(PROJECTIONS, const View view, const int column, const int row, const int columns, const int rows) {
    if (column < 0 || column >= columns || row < 0 || row >= rows) return 0;
    return PIXEL(column, row);
}
#define TAP(column, row) tap(projections, view, column, row, columns, rows)
