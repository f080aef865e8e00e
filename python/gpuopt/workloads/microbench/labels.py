"""The words of the microbenchmarks in tables and pictures."""

from gpuopt.labels import Labels

LABELS = Labels(title="microbenchmarks")
