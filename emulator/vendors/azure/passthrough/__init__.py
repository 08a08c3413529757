"""APIs that the makers of some models have of their own: Anthropic's Messages, Cohere's rerank."""
