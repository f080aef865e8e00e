"""The tables of docs/results/paper-catanzaro2010.md."""

from .paper_claims import tables

TABLES = tables("catanzaro2010")
