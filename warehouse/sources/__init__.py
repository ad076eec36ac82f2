"""Sources: who answers what a view cannot.

    source = FederatedSource([DeltaSource.open(spark, path), MemorySource(tables)])
    answer = ask(source, Join(query, subgoals, comparisons, bound, wanted), keys, version=7)

A source of your own has the members of `Source`; nothing has to be derived from it.
"""

from warehouse.sources.ask import ask, read_join
from warehouse.sources.clock import Clock, RealClock, VirtualClock
from warehouse.sources.delta import DeltaSource
from warehouse.sources.errors import SourceError
from warehouse.sources.federated import FederatedSource
from warehouse.sources.join import Join, joined, whole
from warehouse.sources.loader import LoaderSource
from warehouse.sources.memory import MemorySource
from warehouse.sources.protocol import Answer, Cost, Part, Source, TableSource
from warehouse.sources.simulated import Fault, SimulatedSource

__all__ = [
    "Answer",
    "Clock",
    "Cost",
    "DeltaSource",
    "Fault",
    "FederatedSource",
    "Join",
    "LoaderSource",
    "MemorySource",
    "Part",
    "RealClock",
    "SimulatedSource",
    "Source",
    "SourceError",
    "TableSource",
    "VirtualClock",
    "ask",
    "joined",
    "read_join",
    "whole",
]
