"""Wire formats that two or more vendors share.

What parses or validates raises ``EmulatedError`` at the first failed check.
"""
