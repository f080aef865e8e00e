#!/bin/sh
# The commands that made the rows beside this file, on a machine with gpuopt installed; 2026-11-21.
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
gpuopt profile # not kept: the profiles below are of a later sitting
gpuopt study spmv 2048x2048 --quick --out spmv-2048x2048-profile \
    -v paper:basic \
    -v paper:local_offsets \
    -v paper:vectorized \
    -v paper:image \
    -v 'interior(LOCAL=256, ROWS=2, UNROLL=9)' \
    -v 'tiles(TILE_X=128, TILE_Y=8)' \
    -v 'symmetric(TILE_X=64, TILE_Y=8, ROWS=2, UNROLL=5)' \
    -v 'banded(HALF=1, LOCAL=256, ROWS=2)'
gpuopt profile --out profile.json
# cudaMemcpy and clpeak ran here: peers.txt
gpuopt profile --out profile-again.json # in the same sitting
gpuopt study microbench --quick --out microbench
gpuopt study gem 150000 --quick --out gem-globule -v all \
    -v 'tiled(DISTANCE=2, LOCAL=256, RSQRT=2, TILE=1024, UNROLL=4, VERTICES=2)' \
    -v 'tiled(DISTANCE=0, LOCAL=256, RSQRT=2, TILE=512, UNROLL=4, VERTICES=4)' \
    -v 'pairs(SPECIALIZED=1, FORM=1)' \
    -v 'pairs(SPECIALIZED=1, FORM=1, REGISTER_SUM=1, VERTEX=2, LOCAL=256, VECTOR=4, UNROLL=4, RSQRT=2)'
gpuopt study gem 150000 --quick --design factorial --out gem-factorial -v paper:basic
python gem_capsid.py
