"""Management routes of an Azure resource: models, deployments, connections, tokens."""
