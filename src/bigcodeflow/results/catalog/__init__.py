"""``results.duckdb``: what a store's recorded runs found, as documented views for any DuckDB client.

Counts of each task, metrics and costs stand in the file itself; texts (answers, programs, traces, output) are read from
the Parquet files where they lie. The whole file can be rebuilt from the store at any time.
"""
