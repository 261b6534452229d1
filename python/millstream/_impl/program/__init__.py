"""What programs use around graphs: options, messages, versions."""
