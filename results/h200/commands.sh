#!/bin/sh
# The commands that made the rows beside this file, on a machine with gpuopt installed; 2026-11-21. In rows of before 19:45 UTC times
# were rounded to 1e-9 ms afterwards, which is less than the digits of a whole number of ns that a division had left, and empty fields
# left out.
# Taken again on 2026-11-23 by the same commands, with events of a batch's ends alone (event-cost.txt): profile.json, spmv-2048x2048, spmv-321x481,
# gemm-8192 and tmv, all on one GPU. profile-2026-11-21.json is the sitting that older rows are held against.
# Studies write raw rows with every sample. The loop at the end leaves out the samples and what else no table, ratio or picture reads.
# No study goes on from such files: to measure again, copy this file and the scripts to another folder.
# And once more later that day, on two other machines: profile-again.json and papers/spmv-sizes on the one, with the second run of aa_runs.py;
# profile-third.json, tomography-cube512 and its adjoint on the other. profile-again-2026-11-21.json is the second sitting of that day.
# A day later, on one more machine: profile-fourth.json, papers/tmv-sizes, and papers/gemm-sizes up to 2048; its rows of 3072 and 4096 are
# those of before, of launches too long to hold what events cost.
set -eu
cd "$(dirname "$0")"
gpuopt study spmv 2048x2048 --out spmv-2048x2048 \
    -v paper:basic \
    -v paper:aligned \
    -v paper:local_offsets \
    -v paper:vectorized \
    -v paper:image \
    -v 'padded(LOCAL=128, UNROLL=9, OFFSETS=1)' \
    -v 'interior(LOCAL=64, ROWS=2, UNROLL=9, OFFSETS=1)' \
    -v 'interior(LOCAL=256, ROWS=2, UNROLL=9)' \
    -v 'interior(LOCAL=256, ROWS=1, UNROLL=9)' \
    -v 'interior(LOCAL=256, ROWS=2, UNROLL=9, SLICE=4096)' \
    -v 'interior(LOCAL=256, ROWS=2, UNROLL=9, LOAD=1)' \
    -v 'resident(KEEP=4, LOCAL=256, ROWS=1, UNROLL=27)' \
    -v 'resident(KEEP=8, LOCAL=256, ROWS=2, UNROLL=9)' \
    -v 'banded(LOCAL=1024, ROWS=1, SLICE=4096)' \
    -v 'tiles(TILE_X=128, TILE_Y=8)' \
    -v 'symmetric(TILE_X=64, TILE_Y=8, ROWS=2, UNROLL=5)' \
    -v 'symmetric(TILE_X=64, TILE_Y=4, ROWS=2, UNROLL=5, OFFSETS=1)' \
    -v 'interior(HALF=1, LOCAL=64, ROWS=2, UNROLL=3)' \
    -v 'banded(HALF=1, LOCAL=256, ROWS=2)' \
    -v 'tiles(HALF=1, TILE_X=64, TILE_Y=4, WIDE=2)' \
    -v 'tiles(HALF=1, LOAD=1, TILE_X=64, TILE_Y=4, WIDE=2)' \
    -v 'symmetric(HALF=1, TILE_X=64, TILE_Y=4, ROWS=2, UNROLL=10, OFFSETS=1)'
gpuopt study spmv 321x481 --out spmv-321x481 \
    -v paper:basic \
    -v paper:aligned \
    -v paper:local_offsets \
    -v paper:vectorized \
    -v paper:image \
    -v 'padded(UNROLL=9)' \
    -v 'interior(LOCAL=256, ROWS=1, UNROLL=9, OFFSETS=1)' \
    -v 'interior(LOCAL=256, ROWS=2, UNROLL=9)' \
    -v 'resident(UNROLL=27, KEEP=8)' \
    -v 'banded(LOCAL=256)' \
    -v 'tiles(TILE_X=64, TILE_Y=4)' \
    -v 'symmetric(TILE_X=32, TILE_Y=8, ROWS=1, UNROLL=5)' \
    -v 'symmetric(TILE_X=64, TILE_Y=4, ROWS=2, UNROLL=5, OFFSETS=1)' \
    -v 'banded(HALF=1, LOCAL=256, SLICE=1024)' \
    -v 'symmetric(HALF=1, TILE_X=32, TILE_Y=8, UNROLL=5)'
gpuopt profile --out profile.json
# cudaMemcpy and clpeak ran here: peers.txt
gpuopt profile --out profile-again.json # in the same sitting
# Its rows of the kernel `pairs` are of that day's kernel; the paper's steps are measured again below.
gpuopt study gem 150000 --quick --out gem-globule -v all \
    -v 'tiled(DISTANCE=2, LOCAL=256, RSQRT=2, TILE=1024, UNROLL=4, VERTICES=2)' \
    -v 'tiled(DISTANCE=0, LOCAL=256, RSQRT=2, TILE=512, UNROLL=4, VERTICES=4)' \
    -v 'pairs(SPECIALIZED=1, FORM=1)' \
    -v 'pairs(SPECIALIZED=1, FORM=1, REGISTER_SUM=1, VERTEX=2, LOCAL=256, VECTOR=4, UNROLL=4, RSQRT=2)'
python gem_capsid.py
gpuopt profile --out profile-tensor-cores.json # what the products and the back projections below are held against
W8='COPY=1, PASS=1, WORK_M=8'
gpuopt study gemm 8192 --quick --no-plots --out gemm-8192 \
    -v "register_tile(TILE_M=128, TILE_N=256, TILE_K=16, WORK_N=16, $W8)" \
    -v "register_tile(TILE_M=128, TILE_N=128, TILE_K=16, WORK_N=16, $W8)" \
    -v "register_tile(TILE_M=64, TILE_N=128, TILE_K=32, WORK_N=8, $W8)" \
    -v 'tensor(TYPE=0, PRODUCTS=3)' \
    -v 'tensor(TYPE=0, PRODUCTS=3, PROMOTE=0)' \
    -v 'tensor(TYPE=1, PRODUCTS=6, WARP_M=64, STAGES=2)' \
    -v 'tensor(TYPE=1, PRODUCTS=9, WARP_M=64, STAGES=2)' \
    -v 'tensor(TYPE=2, PRODUCTS=3)' \
    -v 'tensor(TYPE=2, PRODUCTS=1, WARP_M=64, STEPS=2)' \
    -v 'tensor(TYPE=0, PRODUCTS=1, WARP_M=64, STEPS=2)'
gpuopt study tomography 512 --quick --weight fdk --no-plots --out tomography-cube512
gpuopt study tomography 512 --quick --weight adjoint --no-plots --out tomography-cube512-adjoint
gpuopt study tomography 1024 --quick --weight fdk --no-plots --out tomography-cube1024 -v image
gpuopt study tomography I1 I2 --quick --no-plots --out tomography-paper
python gemm_accuracy.py
python tomography_projectors.py
python ../tomography_algorithms.py 128
gpuopt study gemm 1024 2048 4096 --quick --no-plots --out gemm-sizes \
    -v paper:naive -v paper:variable_reduction -v paper:unroll4 -v paper:unroll8 -v paper:unroll16 -v paper:vector_type \
    -v paper:multiple_output -v paper:block_16x16 -v paper:block_32x8 -v paper:block_32x16 -v paper:block_32x32 \
    -v "register_tile(TILE_M=128, TILE_N=256, TILE_K=16, WORK_N=16, $W8)" \
    -v "register_tile(TILE_M=128, TILE_N=128, TILE_K=16, WORK_N=16, $W8)" \
    -v "register_tile(TILE_M=128, TILE_N=128, TILE_K=16, WORK_N=8, $W8)" \
    -v "register_tile(TILE_M=64, TILE_N=128, TILE_K=16, WORK_N=8, $W8)" \
    -v 'register_tile(TILE_M=64, TILE_N=64, TILE_K=32, WORK_M=4, WORK_N=8, COPY=1)' \
    -v 'tensor(TYPE=0, PRODUCTS=3)'
gpuopt study gemm 8192 --quick --no-plots --out gemm-8192-again \
    -v "register_tile(TILE_M=128, TILE_N=256, TILE_K=16, WORK_N=16, $W8)" \
    -v "register_tile(TILE_M=128, TILE_N=128, TILE_K=16, WORK_N=16, $W8)"
gpuopt study tmv 16384 --quick --no-plots --out tmv -v all
gpuopt study gemm 1024x131072x1024 --quick --no-plots --out gemm-constant \
    -v paper:constant \
    -v 'constant(HEIGHT=8, DEPTH=64, LOCAL=64, UNROLL=8)'
python clblast_sgemm.py libclblast.so.1 # CLBlast 1.5.3
# Two builds in turns, each installed by `pip install --target FOLDER SOURCE`: before the rooms (9c4e816) and with them.
python ../../tools/compare_builds.py "$OLD" "$NEW" --device gpu --rounds 15 --out compare-builds.jsonl
# The papers' studies, with the kernels as the papers print them; 2026-11-22. Ceilings are those of profile-tensor-cores.json. Of gemm at
# 4096 there are four blocks alone. I2 with all of its views was cut by the time there was, left out, and taken again below.
gpuopt study gem 8000x270336 --quick -v paper --out papers/gem-steps
gpuopt study gem 4000x270336 --quick --design factorial -v paper --out papers/gem-factorial
gpuopt study spmv 128x128 321x481 512x512 1024x1024 --quick -v paper --out papers/spmv-sizes
gpuopt study tmv 1024 2048 3072 4096 --quick -v paper --out papers/tmv-sizes
gpuopt study gemm 512 1024 2048 3072 4096 --quick -v paper --out papers/gemm-sizes
gpuopt study gemm 1024x4096x1024 --quick --out papers/gemm-wide \
    -v paper:constant \
    -v paper:constant_two_queues \
    -v 'constant(HEIGHT=8, DEPTH=64, LOCAL=64, UNROLL=8)'
gpuopt study tomography I1 I2 --quick -v paper --out papers/tomography-paper
gpuopt study tomography I1:64 I2:64 --quick -v paper --out papers/tomography-64
gpuopt study microbench --quick --out papers/microbench
# Later that day, on another machine of the kind.
mkdir -p papers/types
python ../papers_types.py gpu papers/types/rows.jsonl
gpuopt study gemm 1024x16384x1024 1024x65536x1024 1024x131072x1024 --quick --out papers/gemm-wide-large \
    -v paper:constant \
    -v paper:constant_two_queues \
    -v 'constant(HEIGHT=8, DEPTH=64, LOCAL=64, UNROLL=8)'
gpuopt study tomography I2 --quick -v paper --out papers/tomography-i2
GPUOPT_DEVICE=gpu python ../tomography_regions.py 0 . # its picture is docs/pictures/h200-sart-regions.png
python ../../tools/aa_runs.py 300 --device gpu --copies 20 # printed aa-runs.txt; peers-spin.txt is of gpuopt.lab.run.cuda.torch_sample
gpuopt casebook --quick --out casebook # 2026-11-28, the second run on that machine: 56.4 s by `time`; the first 87.8 s, with empty caches
python ../../tools/casebook_false_verdicts.py 200 --device gpu
python sittings.py # printed sittings.txt, of seven of the profiles here
gcc -O2 -o event_cost event_cost.c -lOpenCL && ./event_cost # printed event-cost.txt
# 2026-11-24: casebook, tomography-paper, gemm-sizes up to 2048 (its rows of 4096 are those of before) and profile-fifth.json, on one machine.
# 2026-11-24, later, on one more machine: gem-globule, without ceilings. Summaries there, in casebook and in gemm-sizes (15 in all) lost a field: registers by
# another compiler than the driver's own, whose blocks have others (62 and 51 of the NVIDIA-style set).
# 2026-11-27, on one more machine: profile-sixth.json, gem-capsid K0 and K1, gemm-constant, tomography-cube1024, whole-calls/shapes.jsonl. The file
# tomography-cube1024-astra is that of 2026-11-21: ASTRA was not installed on the later machine.
# Whole calls, 2026-11-28, on two machines; libastra found a libcufft.so.11 that passed five functions on to cuFFT 12. "c96f392, changed" is 7e0f069, of shapes.jsonl
# c96f392 itself. The other files of that folder are of scripts that are described on the page or in the files.
mkdir -p whole-calls energy
python ../whole_calls.py --out whole-calls/calls.jsonl --seconds 0.7
python ../whole_calls.py --out whole-calls/calls-before.jsonl --seconds 0.7 # c96f392 itself, on a third machine
python ../whole_calls.py --out whole-calls/calls-again.jsonl --seconds 0.7 --only "gemm, device,spmv,gem,"
python ../gemm_shapes.py whole-calls/shapes.jsonl # shapes-before.jsonl is of an older script
python ../numpy_products.py whole-calls/numpy-products.jsonl # 2026-11-28
python ../gemm_tiles.py gemm-tiles.jsonl # 2026-11-28, on another machine of that day
python energy.py energy/energy.jsonl 400 # and energy-again.jsonl; of 2026-11-27, energy-2026-11-24.jsonl is of an earlier board
python energy.py energy/yang.jsonl 165 yang # and yang-again.jsonl; on a third machine
python energy_picture.py energy/energy.jsonl ../../docs/pictures/h200-energy.png
for rows in */rows.jsonl gem-capsid/*.jsonl papers/*/rows.jsonl; do
    gpuopt compact "$rows" "$rows"
done
