// Joseph's projector from a copy of the volume whose columns in z lie in one piece, zeros around: four taps a sample with exact weights.
// Work-items side by side have rays of one column, whose taps lie side by side, and share the place along the other axis. It spends 28
// issue slots a sample and four loads, each of one or two lines of the first-level cache. On a H200 it is faster than texture units (978
// against 801 G samples/s, 2026-11); 671 where work-items lay along the columns, and groups went through rows before views.
#define TEXTURE 0
#include "tomography/include/joseph_forward.cl"

JOSEPH_KERNEL tomography_joseph(JOSEPH_ARGUMENTS) { project_along_rays(JOSEPH_VALUES); }
