"""Run a test command once for each fault that its calls can meet, and tell how it came through."""
