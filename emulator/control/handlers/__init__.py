"""Handlers of the control API, one module per resource."""
