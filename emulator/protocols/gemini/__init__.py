"""The Gemini API, as vendors that serve Gemini speak it."""
