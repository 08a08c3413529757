"""What a resource says of itself: its models, deployments and connections, and who may come in."""
