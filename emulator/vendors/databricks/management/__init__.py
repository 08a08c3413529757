"""What a workspace says of its serving endpoints."""
