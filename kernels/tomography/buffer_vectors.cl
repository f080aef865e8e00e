// The same for CPUs, in explicit vectors: WIDTH neighbouring voxels along x a work-item, two of a voxel's four taps in each load.
#define LOCAL_X 1
#ifndef LOCAL_Y
#define LOCAL_Y 1
#endif
#ifndef WIDTH
#define WIDTH 16
#endif
#ifndef Z
#define Z 8
#endif
#include "tomography/include/taps.cl"

TAPS_KERNEL tomography_buffer_vectors(TAPS_ARGUMENTS) { gather_taps(TAPS_VALUES); }
