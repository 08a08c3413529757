"""Azure AI Model Inference: serverless and managed endpoints, Foundry resources, Azure OpenAI deployments."""

from emulator.vendors.azure.routes import VENDOR

__all__ = ["VENDOR"]
