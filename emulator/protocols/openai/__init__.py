"""The OpenAI API: chat messages, remembered options of chats, strict schemas, the Responses API."""
