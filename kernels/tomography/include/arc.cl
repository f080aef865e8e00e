// The geometry of Jang et al. 2009: a source that circles z, and may rise, before an arc of detectors about the source. Streams of all
// views follow one another: angle, height of the source, sine, cosine. `arc` holds a voxel's sizes and the first one's place (mm), the
// source's distance from z, channels a radian and the middle channel, rows a unit of height / distance and the middle row, a factor.
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

#define ARC_ARGUMENTS                                                                                                                \
    global const float *restrict projections, global float *restrict volume, global const float *restrict streams, const int views, \
        const int nx, const int ny, const int nz, const int columns, const int rows, const int accumulate, const float16 arc
#define ARC_KERNEL kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void

#define CELL arc.s012
#define FIRST arc.s345
#define SOD arc.s6
#define CHANNELS arc.s7
#define MIDDLE_CHANNEL arc.s8
#define ROWS arc.s9
#define MIDDLE_ROW arc.sa
#define FACTOR arc.sb

// W of a voxel at the height w above a source as far away as `square` says.
#if WEIGHT == 1
#define ARC_WEIGHT(square, w) (1 / (square))
#elif WEIGHT == 2 && DIMENSIONS == 3
#define ARC_WEIGHT(square, w) (FACTOR * sqrt(1 + (w) * (w) / (square)) / (square))
#elif WEIGHT == 2
#define ARC_WEIGHT(square, w) (FACTOR / sqrt(square))
#else
#define ARC_WEIGHT(square, w) FACTOR
#endif
