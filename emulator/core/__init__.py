"""The words every other part speaks: asks, calls, plans, errors, clocks and keyed draws."""
