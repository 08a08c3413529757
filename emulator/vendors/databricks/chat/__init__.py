"""Chat completions of serving endpoints: parse a request, render its response."""
