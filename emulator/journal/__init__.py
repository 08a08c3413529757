"""The journal: a record of every call, kept in memory within bounds."""
