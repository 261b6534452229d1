"""Metrics that are counted over many steps, in local variables."""
