"""The subcommands of `heard`, one file each; `cli.py` gathers them."""
