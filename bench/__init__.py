"""Benchmarks: what the method is worth. `bench/README.md` says what each measured and found."""
