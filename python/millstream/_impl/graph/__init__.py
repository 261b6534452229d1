"""Graphs, and how operations join them."""
