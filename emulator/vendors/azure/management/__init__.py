"""Management routes of a resource: models, deployments, connections, tokens."""
