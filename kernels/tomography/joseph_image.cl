// The same from layers of an image, a plane each: the texture unit interpolates, a fetch a sample. NVIDIA's rounds places between pixels
// to 1/256, so that no adjoint of it is exact; it loses to `joseph` on a H200.
#define TEXTURE 1
#include "tomography/include/joseph_forward.cl"

JOSEPH_KERNEL tomography_joseph_image(JOSEPH_ARGUMENTS) { project_along_rays(JOSEPH_VALUES); }
