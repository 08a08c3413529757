"""What authors write: the scenario language, its loading and its matching."""
