"""`etprof fleet`: the runs of many devices as Parquet files, and queries over them.

This package writes the files (`ingest`, `store`), queries them with DuckDB (`query`), and reports which device classes became
slower (`verdict`). Engines that read Parquet (DuckDB, Polars, Spark) do not need it.
"""
