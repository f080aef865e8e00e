"""The words of the diagonal sparse product in tables and pictures."""

from gpuopt.labels import Labels

LABELS = Labels(
    title="Diagonal sparse matrix times vector",
    steps={
        "paper:basic": "basic",
        "paper:local_offsets": "local offsets",
        "paper:cpu": "vectorized, on a CPU",
        "paper:cpu_coarse": "vectorized, few work-items",
    },
)
