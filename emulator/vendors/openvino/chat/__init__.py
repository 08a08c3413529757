"""Chat completions of the graphs that generate text."""
