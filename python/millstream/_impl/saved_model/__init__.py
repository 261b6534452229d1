"""SavedModels: graphs with signatures and variables, in folders."""
