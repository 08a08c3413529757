"""Chat completions of Databricks' serving endpoints: parse a request, render its response."""
