"""Language models: the catalogue of `models.toml`, the client, the providers, and the engines in this process."""
