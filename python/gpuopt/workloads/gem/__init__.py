"""Electrostatic potential of molecules (GEM; Daga, Scogland, Feng 2011)."""
