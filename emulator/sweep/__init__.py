"""Run a test command once for each fault that its calls can meet (``emulator sweep``), and report the outcomes."""
