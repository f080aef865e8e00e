"""Compiled instructions: what a kernel became, for the device at hand and, through offline compilers, for others."""
