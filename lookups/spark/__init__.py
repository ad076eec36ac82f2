"""The batch rule over DataFrames: the plans of the reference, for a whole batch at once.

    changes    what a batch is
    screens    whether a change matches a subgoal, and which views a batch touches
    parts      a change as it meets each subgoal: screened, paired off, bound by the batch itself
    bindings   what the batch itself tells a change that missed
    probes     the lookups of a batch
    evidence   one scan of the view that answers every lookup of the batch, with counts
    indexing   evidence about all keys, kept from batch to batch instead of scanning again
    rounds     subgoal by subgoal, in the order of the reference: verdicts and what they change
    chances    the second chance: the batch, the settled view, and what is left for the source
    misses     what the source is asked, and the view's change put together
    counts     the verdicts and the rows that the view gains and loses, counted
    columns    names and expressions of Spark SQL
    execute    the stages in order

Law: for every batch, verdicts, reasons, questions and rows are those of `lookups.maintain`. Nothing
here loops over changes or rows; the number of Spark jobs is bounded by the program, whatever the
size of the batch or the view.

Of `cq` and `lookups` only this package imports pyspark, and only `selfmaint` imports this package.
"""

from lookups.spark.changes import Changes
from lookups.spark.counts import Counts, Tally
from lookups.spark.execute import Decided, Maintained, gathered, maintain
from lookups.spark.indexing import Index, shared
from lookups.spark.misses import Answers, Ask, Reading
from lookups.spark.screens import touched

__all__ = [
    "Answers",
    "Ask",
    "Changes",
    "Counts",
    "Decided",
    "Index",
    "Maintained",
    "Reading",
    "Tally",
    "gathered",
    "maintain",
    "shared",
    "touched",
]
