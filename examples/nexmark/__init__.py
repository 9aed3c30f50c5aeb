"""NEXMark: an auction house, as a benchmark of streams knows it, and its 23 queries as flows."""
