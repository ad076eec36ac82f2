"""A shop whose views are maintained through some twenty batches: `python -m examples.shop`."""
