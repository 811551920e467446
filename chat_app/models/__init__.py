"""Language models: the catalogue of `models.toml`, the client, the providers, and the engines of this process."""
