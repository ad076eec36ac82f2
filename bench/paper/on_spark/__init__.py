"""Huyn's experiment in form (c): Spark and Delta, micro-batches of 100.

python -m bench.paper.on_spark [--quick] [--keep] [--fill] [--repetitions N] [--out FILE.json]
"""
