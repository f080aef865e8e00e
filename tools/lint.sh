#!/bin/sh
# lint.sh: every linter, all of them even when one fails; called by ./dev lint, which installs them first.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
export PATH
logs=build/lint-logs
mkdir -p "$logs"
failed=

check() { # check NAME COMMAND...
    name=$1
    shift
    printf 'lint: %-14s ' "$name" >&2
    if "$@" >"$logs/$name.log" 2>&1; then
        echo ok >&2
    else
        echo FAILED >&2
        tail -n 60 "$logs/$name.log" >&2
        failed="$failed $name"
    fi
}
cxx_files() { find src -name '*.cpp' -o -name '*.hpp'; }
format() { cxx_files | xargs clang-format --dry-run -Werror; }
build() { # the lint preset: -Wall -Wextra -Werror by the compiler, then clang-tidy on each source that changed
    cmake --preset lint -DPython_EXECUTABLE="$PWD/.venv/bin/python" && cmake --build --preset lint -- -k 0
}
tidy() { # every source, the largest first, against the commands of set-up's build
    find src -name '*.cpp' -printf '%s %p\n' | sort -rn | cut -d' ' -f2 |
        xargs -n 1 -P "$(nproc)" clang-tidy --quiet --warnings-as-errors='*' -p build/editable-*
}

stubs() { # stubtest alone passes where there is no stub file at all
    ls python/gpuopt/_core.pyi && MYPYPATH=python python -m mypy.stubtest gpuopt._core
}

check ruff ruff check .
check ruff-format ruff format --check .
check clang-format format
check kernels python tools/check_kernels.py
check result-pages python tools/result_pages.py --check
# A strict set-up (.ci/run) has shown the compiler's warnings: compiling all of it again would take minutes.
if [ "${GPUOPT_WERROR-}" = ON ]; then check clang-tidy tidy; else check build build; fi
check mypy mypy
check imports env PYTHONPATH=python lint-imports
check repeated-lines python tools/repeated_lines.py --most 80
tail -n 1 "$logs/repeated-lines.log" >&2
check stubtest stubs
[ -z "$failed" ] || { echo "lint: failed:$failed (logs in $logs)" >&2; exit 1; }
