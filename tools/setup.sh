#!/bin/sh
# setup.sh demo|test|lint|docs: system packages (where it has the right to), .venv, gpuopt built into it in editable mode.
# Does nothing, and says nothing, where nothing has changed since it last succeeded.
set -eu
cd "$(dirname "$0")/.."
verb=$1
python=${PYTHON:-python3}
log=build/setup.log
mkdir -p build
: >"$log"

say() { echo "gpuopt: $*" >&2; }
step() { # step 'what is being done' command...
    say "$1 ..."
    shift
    echo "+ $*" >>"$log"
    "$@" >>"$log" 2>&1
}
tell_progress() { # how much is compiled, every half minute, until setup.sh ends
    while sleep 30 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        told=$(sed -n 's,^ *\[\([0-9]*\)/\([0-9]*\)\].*,\1 of \2,p' "$log" | tail -n 1)
        [ -z "$told" ] || say "  $told steps of the build are done"
    done
}
build() { # step, with its progress
    tell_progress &
    teller=$!
    built=0
    step "$@" || built=$?
    kill $teller 2>/dev/null || true
    return $built
}
fail() {
    [ ! -s "$log" ] || { tail -n 25 "$log" >&2; say "the whole log is $PWD/$log"; }
    wrong=$(grep -E ':[0-9]+:[0-9]+: (fatal )?error: ' "$log" | cut -c1-300 | head -n 5) # far above the log's end
    [ -z "$wrong" ] || echo "$wrong" >&2
    say "$*"
    exit 1
}
ok() { "$@" >/dev/null 2>&1; }
version_of() { "$1" -c 'import sys; print(*sys.version_info[:3])' 2>/dev/null; }
venv_ok() { # the scripts of a copied or moved .venv name another folder, PYTHON may ask for another version: make it again
    ok .venv/bin/python -c 'import pip' && head -n 2 .venv/bin/pip | grep -qF "$(pwd -P)/.venv/" &&
        { [ -z "${PYTHON-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of .venv/bin/python)" ]; }
}
python_is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; }
icd_files() { ls /etc/OpenCL/vendors/*.icd 2>/dev/null; }
a_device_is_set_up() { [ -n "${OCL_ICD_VENDORS-}${OCL_ICD_FILENAMES-}" ] || ok icd_files; }
intel_runs_here() { [ "$(uname -sm)" = "Linux x86_64" ]; }

# ---- What has to be there, by what is found rather than by package database, so that other distributions work too
cxx=${CXX:-c++}
has_header() { [ -e "/usr/include/$1" ] || echo "#include <$1>" | ok "$cxx" -E -x c++ -; }
has_opencl_library() {
    ok ls /usr/lib/*/libOpenCL.so || echo 'int main() {}' | ok "$cxx" -x c++ - -lOpenCL -o build/probe
}
has_python_headers() {
    ok "$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'
}
list_missing() {
    name=$(basename "$python")
    ok command -v "$python" || echo "$name"
    ok "$python" -c 'import ensurepip, venv' || echo "$name-venv"
    has_python_headers || echo "$name-dev"
    ok command -v "$cxx" || echo g++
    has_header CL/cl.h || echo opencl-headers
    has_header CL/opencl.hpp || echo opencl-clhpp-headers
    has_opencl_library || echo ocl-icd-opencl-dev
    if [ "$verb" = lint ]; then
        for tool in clang clang-tidy clang-format; do ok command -v $tool || echo $tool; done
    fi
}
list_offline_compilers() { # for chips that are not here: without them tests of these are left out
    ok command -v clang-15 || echo clang-15
    [ -e /usr/lib/clc/cypress-r600--.bc ] || echo libclc-15
    [ -e /usr/lib/x86_64-linux-gnu/amdgcn/bitcode ] || echo rocm-device-libs
    ok command -v objdump || echo binutils
}
list_wanted_runtimes() { # PoCL: for the demo where there is no device at all, for the tests as the second compiler
    case $verb in
    demo) a_device_is_set_up || echo pocl-opencl-icd ;;
    test) ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1 || [ -n "${OCL_ICD_VENDORS-}" ] || echo pocl-opencl-icd ;;
    esac
}
apt_get() { # the names of the packages are few and known: no prompt can be meant for a person
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@"
}
install_packages() {
    missing=$(list_missing | tr '\n' ' ')
    runtimes=$(list_wanted_runtimes)
    compilers=
    [ "$verb" != test ] || compilers=$(list_offline_compilers | tr '\n' ' ')
    [ -n "$missing$runtimes$compilers" ] || return 0
    as_root=no
    if ok command -v apt-get; then
        if [ "$(id -u)" = 0 ]; then as_root=; elif ok sudo -n true; then as_root="sudo -n"; fi
    fi
    if [ "$as_root" = no ]; then
        # A CPU device needs no root: Intel's runtime comes with the Python packages.
        if [ -n "$runtimes" ] && ! a_device_is_set_up && ! intel_runs_here; then missing="$missing$runtimes"; fi
        [ -n "$missing" ] || return 0
        if ok command -v apt-get; then
            say "these packages are missing, and installing them takes root. Run as root, then ./dev $verb again:"
            echo "    apt-get install ${missing% }" >&2
        else
            say "these are missing (Debian's names), install your system's equivalents: $missing"
        fi
        exit 1
    fi
    say "installing system packages: $missing$compilers$runtimes"
    step "  updating the package lists" apt_get update || true # stale lists may still do
    if [ -n "$missing" ]; then
        # shellcheck disable=SC2086 # a list of words
        step "  installing" apt_get install -y --no-install-recommends $missing || fail "apt-get failed"
    fi
    if [ -n "$compilers" ]; then
        # shellcheck disable=SC2086 # a list of words
        step "  installing compilers for other chips" apt_get install -y --no-install-recommends $compilers ||
            say "compilers for other chips could not be installed: their tests are left out"
    fi
    if [ -n "$runtimes" ]; then
        step "  installing a CPU runtime" apt_get install -y --no-install-recommends "$runtimes" ||
            say "PoCL could not be installed: Intel's CPU runtime is used instead"
    fi
}

# ---- Stamps: what is installed (per verb) and what is built (shared)
groups="--group build"
case $verb in
demo) extras=lab ;;
test) extras=lab groups="$groups --group test" ;;
lint) extras=lab groups="$groups --group lint" ;;
docs) extras=lab groups="$groups --group docs" ;;
esac
needs_intel() {
    intel_runs_here && { [ "$verb" = test ] || { [ "$verb" = demo ] && ! a_device_is_set_up; }; }
}
werror=${GPUOPT_WERROR:-OFF} # ON: warnings of the compiler are errors
checksum() { LC_ALL=C sort | xargs cksum | cksum; }
deps_key() { echo "$(cksum <pyproject.toml) $extras $(version_of .venv/bin/python)"; }
build_key() { echo "$(find pyproject.toml CMakeLists.txt cmake src kernels -type f | checksum) $werror"; }
deps_stamp=.venv/gpuopt-$verb.stamp
build_stamp=.venv/gpuopt-build.stamp

have_venv=no
! venv_ok || have_venv=yes
if [ $have_venv = no ] || [ ! -e "$deps_stamp" ]; then
    ! ok command -v "$python" || ok python_is_new_enough "$python" ||
        fail "$("$python" -V 2>&1) is too old: Python 3.10 or later is needed (PYTHON=python3.X ./dev $verb chooses one)"
    install_packages
fi
! needs_intel || extras=$extras,cpu
if [ $have_venv = no ]; then
    rm -rf .venv
    step "making .venv" "$python" -m venv .venv || fail "making the virtual environment failed"
fi
if [ "$(cat "$deps_stamp" 2>/dev/null)" != "$(deps_key)" ]; then
    # shellcheck disable=SC2086 # lists of words
    { step "installing Python packages into .venv" .venv/bin/python -m pip install -q --upgrade "pip>=25.1" &&
        .venv/bin/python -m pip install $groups >>"$log" 2>&1; } || fail "installing Python packages failed"
    build "building gpuopt with its extras $extras (minutes, the first time)" \
        .venv/bin/python -m pip install -v --no-build-isolation -C cmake.define.GPUOPT_WERROR="$werror" -e ".[$extras]" ||
        fail "building gpuopt failed"
    build_key >"$build_stamp"
    deps_key >"$deps_stamp"
elif [ "$(cat "$build_stamp" 2>/dev/null)" != "$(build_key)" ]; then
    build "building gpuopt" .venv/bin/python -m pip install -v --no-build-isolation --no-deps \
        -C cmake.define.GPUOPT_WERROR="$werror" -e . || fail "building gpuopt failed"
    build_key >"$build_stamp"
fi
