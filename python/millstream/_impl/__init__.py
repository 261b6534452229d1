"""The implementation of the package, in rooms that import downwards only: see README.md."""
