"""Databricks' Responses API, ``/serving-endpoints/responses``, for GPT endpoints and agents."""
