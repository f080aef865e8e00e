"""The tables of docs/results/paper-catanzaro2010.md."""

from .paper_claims import tables

TABLES = tables(
    "catanzaro2010",
    "**The vector in an image costs an H200 much of its speed**: {fig11-over-vectorized}"
    " times the vectorized kernel, where the"
    " article gains {fig11-over-vectorized:printed}. On the CPUs it is {fig11-over-vectorized@PoCL} (PoCL) and"
    " {fig11-over-vectorized@Intel} (Intel).",
    "**Four rows a work-item lose on an H200 ({fig10-over-local}) and gain on CPUs** ({fig10-over-local@PoCL} and"
    " {fig10-over-local@Intel}; printed are {fig10-over-local:printed} and, by the two rates,"
    " {fig10-over-local-by-rates:printed}, for the HD 5870).",
    "**Offsets in local memory bring little on an H200**: {fig9-over-aligned}, printed"
    " {fig9-over-aligned:printed}. Alignment"
    " brings {fig8-over-basic} of {fig8-over-basic:printed}.",
    "**All steps together lose on an H200**: {fig11-over-basic}, printed {fig11-over-basic:printed}.",
    "**The rates and shares hold for what the H200 is, not for what the steps bring**:"
    " the first kernel already runs at"
    " {fig7-rate} GFLOP/s, and at {fig7-share} % of the bound without caches, since"
    " caches deliver most of what its loop"
    " asks for.",
)
