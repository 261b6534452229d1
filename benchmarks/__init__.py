"""Benchmarks of Millstream, alone and beside other systems."""
