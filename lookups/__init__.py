"""Lookup plans: what to look up at run time, and what the answer means."""
