"""Errors, names and lines of sources: what needs nothing else of the package."""
