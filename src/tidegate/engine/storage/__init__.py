"""What a run writes to disk: files that appear whole, parts of state, the log of commits, and the lock."""
