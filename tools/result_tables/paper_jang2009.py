"""The tables of docs/results/paper-jang2009.md."""

from .paper_claims import tables

TABLES = tables("jang2009")
