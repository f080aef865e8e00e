#!/bin/sh
# The commands that made the rows beside this file on an NVIDIA H100 80GB HBM3 (driver 580.159.04), 2026-11-27, on one GPU.
set -eu
cd "$(dirname "$0")"
W8='COPY=1, PASS=1, WORK_M=8'
gpuopt profile --out profile.json
gpuopt study gemm 8192 --quick --no-plots --out gemm-8192 \
    -v "register_tile(TILE_M=128, TILE_N=256, TILE_K=16, WORK_N=16, $W8)" \
    -v "register_tile(TILE_M=128, TILE_N=128, TILE_K=16, WORK_N=16, $W8)" \
    -v "register_tile(TILE_M=128, TILE_N=128, TILE_K=16, WORK_N=8, $W8)"
python ../gemm_shapes.py gemm-shapes.jsonl
python ../gemm_tiles.py gemm-tiles.jsonl 200 # by the model of that day, with eleven tiles; times were rounded to five digits afterwards
gpuopt compact gemm-8192/rows.jsonl gemm-8192/rows.jsonl
