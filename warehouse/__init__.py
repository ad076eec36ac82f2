"""The home of the Spark runtime: Delta views, change batches, sources and loaders.

Nothing is exported yet. This package may import `cq`, never `lookups` or `selfmaint`.
"""
