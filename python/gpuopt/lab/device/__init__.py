"""What a device is and could do: environment, bandwidth, caches, bounds, profile."""
