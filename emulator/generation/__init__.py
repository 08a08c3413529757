"""What is said: tokens, prose, tool arguments, documents and vectors, each drawn from its key."""
