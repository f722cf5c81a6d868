"""`etprof fleet`: the runs of many devices as Parquet files, and queries over them.

Engines that read Parquet (DuckDB, Polars, Spark) need nothing of this. It writes the files (`ingest`, `store`),
asks DuckDB (`query`), and says which device classes became slower (`verdict`).
"""
