"""Property checks: generated orders and streams, and the four properties of an operator."""
