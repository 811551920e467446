"""A study's data as CSV and Parquet files with their codebook and manifest."""
