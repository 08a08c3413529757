"""Embedding vectors by the scenario's ``geometry``: hashed (the default), lexical or declared.

``hashed``, ``lexical`` and ``declared`` make the vectors of each; ``arrangement`` finds cosines between declared texts,
and ``unit_vectors`` has the arithmetic.
"""
