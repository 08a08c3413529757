"""Regular expressions of ECMA 262, as ``pattern`` in JSON Schema has them: parse, match, and generate texts for them.

The regular expressions in rules of a scenario have another syntax: ``scenario/regex.py``.
"""
