"""Feature columns: what models read of examples, and layers that read it."""
