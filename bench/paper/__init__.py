"""Huyn's experiment (*Speeding Up Materialized-View Maintenance*, Sect. 5 and Appendix A), again.

    python -m bench.paper [--quick] [--out FILE.json]   measure; JSON, CSV, PNG and HTML
    python -m bench.paper --fill                        put the committed results into the README

The modules in order: `experiment` (the view, the mixes, the source and its price), `plans` (three
ways to maintain the view), `measure` (which runs, in which order), `results` (what was measured, as
data), `tables`, `figures` and `readme` (as text and pictures).
"""
