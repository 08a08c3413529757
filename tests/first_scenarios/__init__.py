"""Ten scenarios as their authors first wished for them, each with what a client sees."""
