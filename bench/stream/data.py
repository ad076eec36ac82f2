"""What TPC-H starts with: written once by `tpchgen-cli`, read with the columns of the program."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

from warehouse.columns import struct_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from selfmaint import Program

COMMAND: Final = "tpchgen-cli"

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "nation": ("n_nationkey", "n_name", "n_regionkey"),
    "customer": ("c_custkey", "c_name", "c_nationkey", "c_phone", "c_mktsegment"),
    "supplier": ("s_suppkey", "s_name", "s_nationkey", "s_phone"),
    "part": ("p_partkey", "p_name", "p_brand", "p_size", "p_retailprice"),
    "orders": (
        *("o_orderkey", "o_custkey", "o_orderstatus", "o_totalprice", "o_orderdate"),
        *("o_orderpriority", "o_clerk"),
    ),
    "lineitem": (
        *("l_orderkey", "l_linenumber", "l_partkey", "l_suppkey", "l_quantity"),
        *("l_extendedprice", "l_discount", "l_shipdate"),
    ),
}
"""The columns of TPC-H that the relations have, in their order."""


class MissingGenerator(RuntimeError):
    """There is no `tpchgen-cli`."""

    def __init__(self) -> None:
        super().__init__(f"the data needs {COMMAND}; `make setup` installs it")


def generated(scale: float, cache: Path) -> Path:
    """The folder with the tables of a scale factor; made if it is not there yet."""
    folder = cache / f"tpch-{scale:g}"
    if folder.exists():
        return folder
    # Beside this interpreter: a virtual environment need not be on the path.
    found = shutil.which(COMMAND, path=str(Path(sys.executable).parent)) or shutil.which(COMMAND)
    if found is None:
        raise MissingGenerator
    cache.mkdir(parents=True, exist_ok=True)
    # An interrupted run must not leave half of the tables behind under the final name.
    with tempfile.TemporaryDirectory(dir=cache) as unfinished:
        out = Path(unfinished) / folder.name
        options = ["--scale-factor", f"{scale:g}", "--output-dir", str(out)]
        tables = ["--tables", ",".join(COLUMNS)]
        subprocess.run([found, "parquet", *options, *tables], check=True, capture_output=True)
        out.rename(folder)
    return folder


def tables(spark: SparkSession, folder: Path, program: Program) -> dict[str, DataFrame]:
    """Every relation of the program, with its declared columns and types."""
    found = {}
    for name, columns in COLUMNS.items():
        declared = struct_type(program.relations[name])
        rows = spark.read.parquet(str(folder / f"{name}.parquet"))
        found[name] = rows.select(
            *(
                sf.col(column).cast(field.dataType).alias(field.name)
                for column, field in zip(columns, declared.fields, strict=True)
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows there are before the first batch; keys run from 1 but for those of orders."""

    customers: int
    parts: int
    suppliers: int
    orders: int
    last_order: int

    @classmethod
    def of(cls, relations: Mapping[str, DataFrame]) -> Size:
        customers, parts, suppliers = (
            relations[name].count() for name in ("customer", "part", "supplier")
        )
        (row,) = (
            relations["orders"]
            .agg(sf.count(sf.lit(1)).alias("rows"), sf.max("order_id").alias("last"))
            .collect()
        )
        return cls(customers, parts, suppliers, int(row["rows"]), int(row["last"]))
