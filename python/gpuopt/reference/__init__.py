"""The oracles: the plainest readable NumPy, in fp64, one file a workload. Nothing here knows a device."""
