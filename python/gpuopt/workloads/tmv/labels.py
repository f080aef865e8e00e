"""The words of the transposed product in tables and pictures."""

from gpuopt.labels import Labels

LABELS = Labels(
    title="Transposed matrix times vector",
    shows_error=True,
    steps={
        "paper:f2": "float2",
        "paper:tlp": "columns shared, 32 x 8",
        "paper:tlp_f2": "both, 32 x 8",
        "paper:tlp_hd5870": "columns shared, 64 x 4",
        "paper:tlp_f2_hd5870": "both, 64 x 4",
    },
)
