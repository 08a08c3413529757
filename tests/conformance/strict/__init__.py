"""The makers' own types, in four languages, held against every answer and event of a running emulator."""
