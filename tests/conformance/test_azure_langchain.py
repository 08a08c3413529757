"""langchain-azure-ai against a live emulator."""

import pytest

chat_models = pytest.importorskip("langchain_azure_ai.chat_models.inference")
embeddings = pytest.importorskip("langchain_azure_ai.embeddings.inference")
