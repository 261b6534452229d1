"""Programs that show Millstream at work."""
