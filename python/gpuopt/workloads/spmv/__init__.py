"""Diagonal sparse matrix times vector (Catanzaro 2010)."""
