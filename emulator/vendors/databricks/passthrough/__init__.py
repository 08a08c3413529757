"""APIs of model makers, for their own clients."""
