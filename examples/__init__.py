"""Examples: files to copy, and the queries of NEXMark."""
