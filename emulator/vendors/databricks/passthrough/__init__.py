"""Anthropic's Messages API and the Gemini API on Databricks, for these makers' own clients."""
