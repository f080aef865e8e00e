"""What runs on a device: candidates, blocks, sweeps, surveys, tuning."""
