"""Clusters: which tasks there are, the servers of this process, and devices of other tasks."""
