"""What Figures 1, 2, 5 and 9 of Yang et al. 2012 show and a quick study of microbenchmarks leaves out: DEVICE FILE."""

import sys

from gpuopt import microbench
from gpuopt.selection import select

device, file = select(sys.argv[1]), sys.argv[2]
types = ("float", "float2", "float4", "float16", "float3", "struct8", "struct16", "struct32", "struct5", "struct3")
for dtype in types:
    microbench.copy_bandwidth(dtype=dtype, pattern="coalesced", device=device, store=file)
microbench.copy_bandwidth(dtype="struct32", pattern="staged", device=device, store=file)
microbench.copy_bandwidth(dtype="char", pattern="packed", device=device, store=file)
microbench.block_dimensions("copy2d", device=device, store=file)
if device.type != "cpu":  # where one of 4096 x 4096 takes minutes
    microbench.activation_matrix(sizes=[4096], device=device, store=file)
