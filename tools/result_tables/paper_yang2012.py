"""The tables of docs/results/paper-yang2012.md."""

from .paper_claims import tables

TABLES = tables("yang2012")
