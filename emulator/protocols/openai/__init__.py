"""The OpenAI API: chat messages, the fast parser of chat requests, strict schemas, the Responses API."""
