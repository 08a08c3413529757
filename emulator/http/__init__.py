"""HTTP: the only part, with the control plane, that knows the web framework."""
