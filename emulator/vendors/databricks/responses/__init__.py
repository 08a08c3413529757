"""The Responses API of GPT endpoints and agents."""
