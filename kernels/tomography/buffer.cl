// The same from a buffer, four taps a voxel and view: for devices without a texture unit, or where its 8-bit weights are too coarse.
#ifndef LOCAL_X
#define LOCAL_X 32
#define LOCAL_Y 8
#endif
#ifndef Z
#define Z 16
#endif
#include "tomography/include/taps.cl"

TAPS_KERNEL tomography_buffer(TAPS_ARGUMENTS) { gather_taps(TAPS_VALUES); }
