"""The tables of docs/results/paper-daga2011.md."""

from .paper_claims import tables

TABLES = tables("daga2011")
