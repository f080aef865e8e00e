#!/bin/sh
# The commands that made the rows beside this file, with clang 15.0.6, libclc 15, ROCm's device libraries 5.2.3, objdump 2.40 and ptxas 13.0
# on PATH; 2026-11-24. Nothing is timed.
set -eu
cd "$(dirname "$0")"
python rows.py PoCL pocl.jsonl live gfx90a gfx1030 gfx1100 cypress sm_90
python rows.py Intel intel.jsonl live
# On a machine with an H200, driver 580.159.04, ptxas and nvdisasm of CUDA 13.0; 2026-11-24.
python rows.py gpu h200.jsonl live
