"""APIs of model makers on Azure, for their own clients: Anthropic's Messages, Cohere's rerank."""
