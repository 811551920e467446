"""Speed, memory and safety figures of the running product: `make bench`."""
