"""View tables: Delta tables that hold the views of a program, and what must be remembered of them.

store = Store.open(spark, path, program)       # creates the folder, or opens it
store.check_batch(18)                          # per view: next, or a replay
table = store.views["sales"]
state = table.state()                          # version and batch; nobody else wrote
commit = table.commit(state.version, 18, inserts=rows, deletes=None, info={})
store.record(18, {"sales": commit})            # the batch is done for all views
"""

from warehouse.tables.errors import (
    BatchOrderError,
    ConflictError,
    CorruptLogError,
    ForeignWriteError,
    MissingTableError,
    MissingVersionError,
    ProgramChangedError,
    StorageError,
    StrangeTableError,
    TableError,
)
from warehouse.tables.order import Extent, Place, place_of
from warehouse.tables.store import RELATIONS, Program, Store, ViewSpec, last_batch
from warehouse.tables.views import Commit, Made, State, ViewTable

__all__ = [
    "RELATIONS",
    "BatchOrderError",
    "Commit",
    "ConflictError",
    "CorruptLogError",
    "Extent",
    "ForeignWriteError",
    "Made",
    "MissingTableError",
    "MissingVersionError",
    "Place",
    "Program",
    "ProgramChangedError",
    "State",
    "StorageError",
    "Store",
    "StrangeTableError",
    "TableError",
    "ViewSpec",
    "ViewTable",
    "last_batch",
    "place_of",
]
