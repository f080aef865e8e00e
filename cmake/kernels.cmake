# Sets GPUOPT_KERNELS_CPP: a generated source that holds every kernels/**/*.cl, made again when one is edited, added or
# removed.
set(GPUOPT_KERNELS_CPP "${PROJECT_BINARY_DIR}/embedded_kernels.cpp")
set(kernel_root "${PROJECT_SOURCE_DIR}/kernels")
file(GLOB_RECURSE kernels RELATIVE "${kernel_root}" CONFIGURE_DEPENDS "${kernel_root}/*.cl")
list(SORT kernels)
list(TRANSFORM kernels PREPEND "${kernel_root}/" OUTPUT_VARIABLE kernel_paths)
# The names stand in the command, so that removing a file changes the command and makes the source again.
string(JOIN "|" kernel_names ${kernels})
add_custom_command(
  OUTPUT "${GPUOPT_KERNELS_CPP}"
  COMMAND "${CMAKE_COMMAND}" "-DROOT=${kernel_root}" "-DNAMES=${kernel_names}" "-DOUTPUT=${GPUOPT_KERNELS_CPP}" -P
          "${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake"
  DEPENDS ${kernel_paths} "${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake"
  COMMENT "Embedding kernels"
  VERBATIM)
