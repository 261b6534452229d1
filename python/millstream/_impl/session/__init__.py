"""Sessions, and the plugins that they run on."""
