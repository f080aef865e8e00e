"""Microbenchmarks of the device itself (Yang 2012)."""
