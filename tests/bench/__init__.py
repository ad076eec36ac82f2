"""What `make bench` measures: compile time, import time and decisions per second.

    python -m tests.bench [--out FILE.json] [--compare OLD.json] [--quick]

Timings live here and in no test: a machine that is busy is not a broken rule.
"""
