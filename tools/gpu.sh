#!/bin/sh
# gpu.sh [--for SECONDS] [DIR]: tests and studies on a machine with a GPU and without network, with what is installed there:
# no package, no virtual environment, no change outside this folder but one missing ICD file. Results go to DIR (default
# results/new) and DIR.tar.gz. Every stage ends within 9 minutes; finished ones are not run again. With --for, no stage runs
# past that time: run the same command again for the rest.
set -eu
cd "$(dirname "$0")/.."
budget=
case ${1-} in
--for) budget=$2; shift 2 ;;
-*) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
esac
out=${1:-results/new}
site=$PWD/build/gpu-site
python=${PYTHON:-python3}
began=$(date +%s)
done=$out/.done
mkdir -p "$out/logs" "$done" build
: >"$out/left_out.txt"
failed=

ok() { "$@" >/dev/null 2>&1; }
say() { echo "gpu: $*" >&2; }
leave_out() { say "$1: left out: $2"; echo "$1: $2" >>"$out/left_out.txt"; }
missing_modules() { # the names that cannot be found, of the modules given
    "$python" - "$@" <<'PYTHON'
import importlib.util, sys
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))
PYTHON
}
stage() { # stage NAME 'modules it needs' COMMAND...
    name=$1 needs=$2
    shift 2
    [ ! -e "$done/$name" ] || return 0
    # shellcheck disable=SC2086 # a list of words
    absent=$(missing_modules $needs)
    if [ -n "$absent" ]; then leave_out "$name" "Python packages missing here: $absent"; return 0; fi
    limit=520 start=$(date +%s)
    if [ -n "$budget" ]; then
        left=$((began + budget - start))
        if [ "$left" -lt 20 ]; then leave_out "$name" "no time left; the same command goes on from here"; return 0; fi
        [ "$left" -ge "$limit" ] || limit=$left
    fi
    status=0
    timeout -s INT -k 15 "$limit" "$@" >"$out/logs/$name.log" 2>&1 || status=$?
    took=$(($(date +%s) - start))
    case $status in
    0) say "$name: ok ($took s)"; : >"$done/$name" ;;
    124 | 137) leave_out "$name" "not finished within $limit s; the same command goes on from here" ;;
    *) failed="$failed $name"; say "$name: FAILED ($took s), $out/logs/$name.log ends:"; tail -n 15 "$out/logs/$name.log" >&2 ;;
    esac
}

facts() {
    date -u +%Y-%m-%dT%H:%M:%SZ
    uname -srm
    "$python" -V
    cmake --version
    ok nvidia-smi && nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv
    "$python" -m pip list --format=freeze | grep -iE '^(numpy|scipy|pandas|matplotlib|scikit|pybind11|cupy|torch|pytest)' || true
    head -n 5 /etc/OpenCL/vendors/*.icd
}
register_nvidia() { # containers bring NVIDIA's library without the file that names it to the loader
    library=libnvidia-opencl.so.1
    ok "$python" -c "import ctypes; ctypes.CDLL('$library')" || return 0
    [ -z "${OCL_ICD_VENDORS-}${OCL_ICD_FILENAMES-}" ] || return 0
    ! ok grep -l nvidia /etc/OpenCL/vendors/*.icd || return 0
    if ok mkdir -p /etc/OpenCL/vendors && [ -w /etc/OpenCL/vendors ]; then
        echo $library >/etc/OpenCL/vendors/nvidia.icd
    else
        mkdir -p build/vendors
        cp /etc/OpenCL/vendors/*.icd build/vendors/ 2>/dev/null || true
        echo $library >build/vendors/nvidia.icd
        OCL_ICD_VENDORS=$PWD/build/vendors
        export OCL_ICD_VENDORS
    fi
    say "NVIDIA's OpenCL registered"
}

sources=$(find pyproject.toml CMakeLists.txt cmake src kernels python tests notebooks tools docs results README.md ARCHITECTURE.md CONTRIBUTING.md -type f ! -name '*.pyc' | LC_ALL=C sort | xargs cksum | cksum)
if [ "$(cat "$done/sources" 2>/dev/null)" != "$sources" ] || [ ! -d "$site" ]; then
    rm -f "$done"/*
    echo "$sources" >"$done/sources"
fi
register_nvidia
facts >"$out/machine.txt" 2>&1 || true
PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
PYTHONUNBUFFERED=1
GPUOPT_REQUIRE_DEVICE=1
export PYTHONPATH PYTHONUNBUFFERED GPUOPT_REQUIRE_DEVICE

lab="click matplotlib numpy pandas scipy skimage tqdm"
stage build "numpy pybind11 scikit_build_core" \
    "$python" -m pip install --no-index --no-build-isolation --no-deps --upgrade --target "$site" .
if [ -e "$done/build" ]; then
    stage doctor "$lab" "$python" -m gpuopt doctor
    stage devices "$lab" "$python" -m gpuopt devices
    stage profile "$lab" "$python" -m gpuopt profile --out "$out/profile.json"
    stage study-microbench "$lab" "$python" -m gpuopt study microbench --quick --out "$out/microbench"
    stage study-spmv-quick "$lab" "$python" -m gpuopt study spmv --quick --out "$out/spmv-quick"
    variants=tests/workloads/test_variants.py
    for room in tests/workloads/*/cases.py; do
        name=$(basename "$(dirname "$room")")
        stage "variants-$name" "$lab pytest pytest_timeout" "$python" -m pytest -p no:cacheprovider $variants --workload "$name"
    done
    for file in $(find tests -name 'test_*.py' ! -path $variants | LC_ALL=C sort); do
        name=$(echo "${file%.py}" | tr / -)
        stage "$name" "$lab pytest pytest_timeout" "$python" -m pytest -p no:cacheprovider "$file"
    done
    for size in 2048x2048 321x481; do
        stage "study-spmv-$size" "$lab" "$python" -m gpuopt study spmv "$size" --out "$out/spmv-$size"
    done
    stage study-spmv-float64 "$lab" "$python" -m gpuopt study spmv --quick --dtype float64 --out "$out/spmv-float64"
    stage study-spmv-cpu "$lab" "$python" -m gpuopt study spmv --quick --device cpu --out "$out/spmv-cpu"
else
    leave_out "tests and studies" "the build did not succeed"
fi

tar -czf "$out.tar.gz" --exclude=.done -C "$(dirname "$out")" "$(basename "$out")"
say "results: $out.tar.gz"
[ ! -s "$out/left_out.txt" ] || { say "left out:"; sed 's/^/    /' "$out/left_out.txt" >&2; }
[ -z "$failed" ] || { say "failed:$failed"; exit 1; }
