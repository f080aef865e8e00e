"""Taking numbers that mean something: check, warm up, sample, check again."""
