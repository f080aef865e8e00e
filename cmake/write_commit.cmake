# Writes OUTPUT, a C++ source with the commit of the tree ROOT: of its git repository, else of the archive that git made, else
# of the environment variable GPUOPT_COMMIT. "+dirty" stands behind it where files that make the package were changed.
# Run at each build; OUTPUT is touched only where what it says changes.
cmake_minimum_required(VERSION 3.25)
set(commit "")
set(changes "")
find_program(git git)
if(git AND EXISTS "${ROOT}/.git")
  execute_process(COMMAND "${git}" -C "${ROOT}" rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  execute_process(COMMAND "${git}" -C "${ROOT}" --no-optional-locks status --porcelain -- src kernels python cmake
                          CMakeLists.txt pyproject.toml
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(commit AND changes)
    string(APPEND commit "+dirty")
  endif()
endif()
if(NOT commit)
  file(STRINGS "${ROOT}/cmake/commit.txt" commit LIMIT_COUNT 1)
endif()
if(NOT commit MATCHES "^[0-9a-f]+(\\+dirty)?$")
  set(commit "$ENV{GPUOPT_COMMIT}")
endif()
if(NOT commit MATCHES "^[0-9a-f]+(\\+dirty)?$")
  set(commit "")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT "namespace gpuopt {
extern const char* const source_commit;
const char* const source_commit = \"@commit@\";
}
")
