"""Transposed matrix times vector (Yang 2012)."""
