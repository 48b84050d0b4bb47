"""``results.duckdb``: what a store's recorded runs found, as documented views for any DuckDB client.

Counts of each task, metrics and costs stand in the file itself; texts (answers, programs, traces, output) are read from
the Parquet files where they lie. The whole file can be rebuilt from the store at any time.
"""

from bigcodeflow.results.catalog.building import CATALOG_NAME, rebuild_catalog
from bigcodeflow.results.catalog.description import Description, LeftOut, ViewColumn, describe_catalog

__all__ = ["CATALOG_NAME", "Description", "LeftOut", "ViewColumn", "describe_catalog", "rebuild_catalog"]
