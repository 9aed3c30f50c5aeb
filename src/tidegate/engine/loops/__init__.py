"""Loops: facts with the time from which on they hold, and the rounds in which they are found."""
