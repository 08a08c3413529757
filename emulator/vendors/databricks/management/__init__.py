"""Databricks' management API: serving endpoints, their permissions, AI gateway settings and rate limits; tokens."""
