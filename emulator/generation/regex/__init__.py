"""Regular expressions of ECMA 262, as ``pattern`` in JSON Schema has them: parse, match, and generate texts for them.

Rules of scenarios have other ones: ``scenario/regex.py``.
"""
