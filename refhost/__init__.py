"""The reference host: see README.md."""
