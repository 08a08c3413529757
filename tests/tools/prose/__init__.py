"""The program that writes the sentences of each language."""
