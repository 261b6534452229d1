"""Sessions that save, recover and end well, and the hooks that they call around each step."""
