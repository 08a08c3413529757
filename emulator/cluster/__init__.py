"""Several processes that answer as one."""
