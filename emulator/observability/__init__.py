"""What is told of calls: lines, figures, traces, and what the journal's entries are made of."""
