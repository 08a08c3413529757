"""The short road: usual calls whose head has come before, answered as soon as their last byte is there."""
