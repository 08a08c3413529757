"""OpenVINO's ``/v3/chat/completions``: chats with graphs that generate text."""
