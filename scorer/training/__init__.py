"""Training of heads: label sources, features, fitting, and the founding study's own protocol."""
