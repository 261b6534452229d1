"""Variables, and what they start from."""
