"""The Gemini API, for vendors that serve Gemini."""
