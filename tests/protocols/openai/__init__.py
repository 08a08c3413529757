"""Tests of the shared OpenAI wire format."""
