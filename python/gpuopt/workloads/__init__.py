"""The workloads: a room each, and what several share in `common`."""
