"""The journal: a bounded in-memory record of every request and its response."""
