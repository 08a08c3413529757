"""APIs of model makers: Anthropic's Messages, Cohere's rerank."""
