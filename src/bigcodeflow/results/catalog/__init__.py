"""``results.duckdb``: results of a store's recorded runs, as documented views for any DuckDB client.

The file itself contains status and cause of each sample, metrics and costs; texts (answers, programs, traces, output)
are read from the store's Parquet files. The whole file can be rebuilt from the store at any time.
"""
