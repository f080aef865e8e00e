# Defines gpuopt_opencl: the C headers, the C++ header CL/opencl.hpp and the ICD loader.
add_library(gpuopt_opencl INTERFACE)

if(NOT GPUOPT_FETCH_OPENCL)
  find_package(OpenCL QUIET)
  find_package(OpenCLHeaders CONFIG QUIET)
  find_package(OpenCLHeadersCpp CONFIG QUIET)
  # Where a distribution ships the C++ header without its CMake package, the header alone is enough.
  find_path(GPUOPT_CLHPP_DIR CL/opencl.hpp HINTS ${OpenCL_INCLUDE_DIRS})
endif()

if(OpenCL_FOUND AND TARGET OpenCL::HeadersCpp AND TARGET OpenCL::Headers)
  target_link_libraries(gpuopt_opencl INTERFACE OpenCL::HeadersCpp OpenCL::OpenCL)
elseif(OpenCL_FOUND AND GPUOPT_CLHPP_DIR)
  target_include_directories(gpuopt_opencl SYSTEM INTERFACE "${GPUOPT_CLHPP_DIR}")
  target_link_libraries(gpuopt_opencl INTERFACE OpenCL::OpenCL)
else()
  # Untried: the machines this was written on have no way to these repositories.
  message(STATUS "OpenCL or CL/opencl.hpp not found: fetching pinned sources. The system's packages are the tried way "
                 "(Debian and Ubuntu: apt-get install opencl-headers opencl-clhpp-headers ocl-icd-opencl-dev)")
  include(FetchContent)
  set(tag v2024.10.24)
  set(BUILD_TESTING OFF)
  set(BUILD_SHARED_LIBS OFF)
  set(BUILD_DOCS OFF)
  set(BUILD_EXAMPLES OFF)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  foreach(name OpenCL-Headers OpenCL-ICD-Loader OpenCL-CLHPP)
    FetchContent_Declare(${name} GIT_REPOSITORY https://github.com/KhronosGroup/${name}.git GIT_TAG ${tag}
                         GIT_SHALLOW TRUE)
  endforeach()
  FetchContent_MakeAvailable(OpenCL-Headers OpenCL-ICD-Loader OpenCL-CLHPP)
  target_link_libraries(gpuopt_opencl INTERFACE OpenCL::HeadersCpp OpenCL::OpenCL)
endif()
