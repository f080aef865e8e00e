"""Timing: results checked before and after, warm-up, samples and their statistics."""
