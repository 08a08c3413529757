"""What the vendor refuses, and its words for it in the shape of a profile."""
