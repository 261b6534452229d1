"""Functions that add operations."""
