"""The copies of Figures 1 and 2 of Yang et al. 2012 that a quick study of microbenchmarks leaves out: DEVICE FILE."""

import sys

from gpuopt import microbench

device, file = sys.argv[1:]
for dtype in (
    "float",
    "float2",
    "float4",
    "float16",
    "float3",
    "struct8",
    "struct16",
    "struct32",
    "struct5",
    "struct3",
):
    microbench.copy_bandwidth(dtype=dtype, pattern="coalesced", device=device, store=file)
microbench.copy_bandwidth(dtype="struct32", pattern="staged", device=device, store=file)
microbench.copy_bandwidth(dtype="char", pattern="packed", device=device, store=file)
