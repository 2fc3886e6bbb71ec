"""Engines that count: DuckDB here, Spark there."""
