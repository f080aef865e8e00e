"""Matrix products (Jang 2009, Yang 2012)."""
