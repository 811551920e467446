"""Export a study's data as CSV and Parquet files, with a codebook and a manifest."""
