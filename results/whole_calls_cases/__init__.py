"""Cases of whole_calls.py, a module for each part of the table."""
