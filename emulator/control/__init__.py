"""The control plane: what a test asks of the emulator itself."""
