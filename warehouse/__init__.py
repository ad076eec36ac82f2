"""The home of the Spark runtime: Delta views, change batches, sources and loaders.

Import from its modules: `warehouse.session`, `warehouse.sources`, `warehouse.batches`. This package
may import `cq`, never `lookups` or `selfmaint`.
"""
