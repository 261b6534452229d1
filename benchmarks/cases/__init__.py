"""The benchmark cases, one module for each kind of front end. Each process runs one case."""
