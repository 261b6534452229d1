"""References of all ops, a file a family."""

from testing.properties.families import (
    arrays,
    draws,
    elementwise,
    images,
    networks,
    passing,
    reductions,
    rows,
    shapes,
    state,
)
from testing.properties.reference import REFERENCES

__all__ = [
    "REFERENCES",
    "arrays",
    "draws",
    "elementwise",
    "images",
    "networks",
    "passing",
    "reductions",
    "rows",
    "shapes",
    "state",
]
