"""Runtime: the active scenario, its vendor handlers and clock, and sessions with a scenario of their own."""
