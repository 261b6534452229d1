"""Data types, shapes and arrays."""
