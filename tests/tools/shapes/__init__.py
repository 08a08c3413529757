"""Tables of request shapes, written from official descriptions."""
