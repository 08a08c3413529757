"""The word lists behind the vocabulary, and the program that writes it."""
