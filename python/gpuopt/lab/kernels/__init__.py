"""Kernels of one's own: declared, verified, timed, judged."""
