#!/bin/sh
# The commands that made the rows beside this file, on a machine with gpuopt and both CPU runtimes installed: a 2-core AMD EPYC, 2026-11-24,
# with nothing else running. The C++ loops and SciPy were those of that machine.

# Studies write raw rows with every sample. The loop at the end leaves out the samples and what else no table, ratio or picture reads.
# No study goes on from such files: to measure again, copy this file and the scripts to another folder.
set -eu
cd "$(dirname "$0")"
for device in portable intel; do
    name=$device
    [ "$device" = intel ] || name=pocl
    gpuopt profile --device $device --out $name-profile.json
    for size in 1921x1081 321x481; do
        gpuopt study spmv $size --quick --device $device --fresh --out $name-$size \
            -v paper:basic \
            -v paper:aligned \
            -v paper:local_offsets \
            -v paper:vectorized \
            -v paper:cpu_coarse \
            -v 'row_blocks(BLOCK=64, ITEMS=64)' \
            -v 'sliced(SLICE=64, ITEMS=64)' \
            -v 'sliced(SLICE=32, ITEMS=64)' \
            -v 'symmetric_sliced(SLICE=1024, ITEMS=16)' \
            -v 'sliced(SLICE=64, ITEMS=64, HALF=1)' \
            -v 'symmetric_sliced(SLICE=1024, ITEMS=16, HALF=1)'
    done
    gpuopt profile --device $device --out $name-profile-again.json
    gpuopt study microbench --quick --device $device --fresh --out $name-microbench
    gpuopt study gem 25000 --quick --device $device --fresh --out $name-gem-25000 \
        -v wide \
        -v 'wide(RSQRT=5)' \
        -v 'wide(ROWS=8, RSQRT=5)' \
        -v 'wide(RSQRT=1)' \
        -v tiled \
        -v 'pairs(FORM=1, REGISTER_SUM=1, SPECIALIZED=1, VERTEX=2)'
done
for device in portable intel; do
    name=$device
    [ "$device" = intel ] || name=pocl
    gpuopt study gemm 1024 2048 --quick --device $device --no-plots --out $name-gemm -v 'packed(WIDTH=16, VECTORS=4, DEPTH=128, PANELS=8)'
    gpuopt study tmv 4096 --quick --device $device --no-plots --out $name-tmv -v all
done
for device in portable intel; do
    name=$device
    [ "$device" = intel ] || name=pocl
    gpuopt profile --device $device --out $name-profile-tomography.json # for its ceiling of four loads a value
    gpuopt study tomography I1 I2 cube slice --quick --device $device --fresh --out $name-tomography
    python tomography_fbp.py $device $name-tomography-fbp.jsonl
    python tomography_taps.py $device $name-tomography-taps.jsonl
    GPUOPT_DEVICE=$device python ../tomography_algorithms.py 32 $name-tomography-algorithms.jsonl
done

# The papers' studies, with the kernels as the papers print them; 2026-11-22, on a 2-core AMD EPYC of an older kind than the one
# of all rows above, with which they are not to be compared.
for device in portable intel; do
    name=$device
    [ "$device" = intel ] || name=pocl
    study() { # the folder, then what is studied
        folder=papers/$name-$1
        shift
        gpuopt study "$@" --quick --device $device --out "$folder"
    }
    gpuopt profile --device $device --out papers/$name-profile.json
    study spmv-sizes spmv 128x128 321x481 512x512 1024x1024 -v paper
    study tmv-sizes tmv 1024 2048 3072 4096 -v paper
    study gemm-sizes gemm 256 512 -v paper
    study gemm-wide gemm 256x4096x256 -v paper:constant -v paper:constant_two_queues
    study tomography-paper tomography I1:8 I2:8 -v paper
    study gem-steps gem 400x16384 -v paper
    study microbench microbench
    mkdir -p papers/$name-types
    python ../papers_types.py $device papers/$name-types/rows.jsonl
    # Jang's sizes begin at 512 and end beyond 3072, where a run of the first step takes minutes here.
    study gemm-1024 gemm 1024 \
        -v paper:multiple_output \
        -v paper:block_16x16 \
        -v paper:block_32x8 \
        -v paper:block_32x16 \
        -v paper:block_32x32
    GPUOPT_DEVICE=$device python ../tomography_regions.py 35 $name-regions # its rows are $name-tomography-regions.jsonl
    # The factorial of GEM, 504 combinations, takes a minute a block here even for 100 atoms; it was not measured.
    gpuopt casebook --quick --device $device --out $name-casebook
done
python ../../tools/casebook_false_verdicts.py 200 --device portable
# 2026-11-28: both casebooks again, whole calls of programs too; false verdicts 0 of 201 by each runtime (122 and 98 undecided, 78 and 42 refused); and
python ../whole_calls.py --device 0 --seconds 0.8 --skip sirt --out intel-whole-calls.jsonl # 2026-11-28, on an AMD EPYC; the rest of that day on an Intel Xeon at 2.5 GHz
python ../whole_calls.py --device 1 --seconds 0.8 --skip sirt --out pocl-whole-calls.jsonl
levels() { # of `packed` at 256^3: does any other level make small products faster?
    for change in DEPTH=128 ITEMS=1 ROWS=4 PANELS=4 PANELS=1 DEPTH=256; do
        printf -- '-v\npacked(%s)\n' "$(echo "DEPTH=128, ITEMS=2, PANELS=8, ROWS=6, VECTORS=4, WIDTH=16" | sed "s/${change%=*}=[0-9]*/$change/")"
    done
}
levels | xargs -d '\n' gpuopt study gemm 256 --quick --no-plots --device 0 --out gemm-256-levels-intel
levels | xargs -d '\n' gpuopt study gemm 256 --quick --no-plots --device 1 --out gemm-256-levels-pocl
for name in intel pocl; do
    python ../gemm_packed.py ${name/pocl/portable} $name-gemm-packed.jsonl
done
gpuopt study gemm shapes --quick --device intel --out intel-gemm-shapes # in two runs, the second went on
for device in intel portable; do python ../../tools/aa_runs.py 120 --copies 20 --device $device; done # printed aa-runs.txt; then 100 and 72 with --busy 2
for rows in */rows.jsonl papers/*/rows.jsonl; do
    gpuopt compact "$rows" "$rows"
done

# Kernel Tuner's examples, searched by it and by gpuopt in turns; 2026-11-27, while others worked on the same two cores. KT is a virtual
# environment with kernel_tuner 1.5.0, pyopencl and intel-opencl-rt, EXAMPLES the folder examples/opencl of Kernel Tuner's repository.
# The wheel of pyopencl does not find Intel's runtime of a virtual environment: $KT/icd holds a file intel.icd with the path of
# $KT/lib/libintelocl.so.
for device in portable intel; do
    name=$device
    [ "$device" = intel ] || name=pocl
    in_turns() {
        python ../kernel_tuner_side_by_side.py "$EXAMPLES" --python "$KT/bin/python" --device $device --out kernel-tuner-side-by-side-$name.json "$@"
    }
    [ "$device" = portable ] || export OCL_ICD_VENDORS="$KT/icd" LD_LIBRARY_PATH="$KT/lib"
    in_turns --rounds 6
    in_turns --rounds 15 --bests
done
