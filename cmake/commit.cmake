# Sets GPUOPT_COMMIT_CPP: a generated source that names the commit the core is built from, looked up at each build.
set(GPUOPT_COMMIT_CPP "${PROJECT_BINARY_DIR}/source_commit.cpp")
add_custom_target(
  gpuopt_commit
  COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${GPUOPT_COMMIT_CPP}" -P
          "${PROJECT_SOURCE_DIR}/cmake/write_commit.cmake"
  BYPRODUCTS "${GPUOPT_COMMIT_CPP}"
  COMMENT "Looking up the source commit"
  VERBATIM)
