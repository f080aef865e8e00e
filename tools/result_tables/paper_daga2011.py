"""The tables of docs/results/paper-daga2011.md."""

from .paper_claims import tables

TABLES = tables(
    "daga2011",
    "**The steps for AMD beat those for NVIDIA on an NVIDIA H200, too**: by"
    " {fig8-amd-over-nvidia-style} in kernels and"
    " {fig8-amd-over-nvidia-style-call} in whole calls, printed"
    " {fig8-amd-over-nvidia-style:printed} on AMD's card.",
    "**Arithmetic on float4 gains {fig6-vavm4} on an H200** and beats float2 (float2"
    " over float4: {fig6-vavm2-over-vavm4});"
    " the paper found float2 the better, with up to {fig6-vavm2:printed}, here {fig6-vavm2}.",
    "**Local memory gains {fig6-local-memory}, not {fig6-local-memory:printed}**; register preloading gains more"
    " ({fig6-register-preloading}), which the paper has the other way round.",
    "**All steps together are not the fastest kernel**, as the paper says: they reach"
    " {best-is-not-all} of the fastest of"
    " 504 combinations. **Nor is the set that the paper ends with**: it reaches"
    " {fig7-best/4000x270336} of the fastest"
    " there, and {fig7-best/8000x270336} of the fastest of the paper's own steps on the larger molecule.",
    "**On CPUs images lose**: atoms in an image run at {fig6-image-memory@PoCL} (PoCL) and"
    " {fig6-image-memory@Intel} (Intel), the set for AMD, which has one, at"
    " {fig8-amd-best@PoCL} and {fig8-amd-best@Intel}. Vector"
    " arithmetic gains {fig6-vavm4@PoCL} and {fig6-vavm4@Intel}.",
)
