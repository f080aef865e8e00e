"""The casebook: performance bugs of real projects, each with its fix, measured on the device at hand (Yang 2012)."""
