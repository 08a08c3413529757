"""How the sockets speak TLS, and who vouches for them."""
