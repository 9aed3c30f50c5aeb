"""The local engine beside Bytewax and Pathway."""
