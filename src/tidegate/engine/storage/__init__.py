"""What a run leaves on a disk: files that appear whole, parts of state, commits, and the lock of who may write."""
