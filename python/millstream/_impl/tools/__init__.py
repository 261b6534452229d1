"""Commands and reports."""
