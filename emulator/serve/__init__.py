"""One process that serves, or several, from the settings to the end."""
