"""Cluster: several processes that share a store and act as one emulator."""
