"""The APIs of models' own makers, for their own clients."""
