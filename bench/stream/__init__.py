"""TPC-H as a living warehouse: five plans maintain the same views through the same stream.

    python -m bench.stream [--scale 1] [--batches 50] [--skew 0.8] [--quick]   measure
    python -m bench.stream --fill                   put the committed results into the README

The modules in order: `program` (the views, with keys and without), `data` (what TPC-H starts
with), `draws` and `changes` (the stream), `recompute` (the views written plainly), `plans` (who
maintains them, and how), `check` (are they right?), `measure` (which plan, in which order),
`results` (what was measured, as data), `tables`, `figures` and `readme` (as text and pictures).
"""
