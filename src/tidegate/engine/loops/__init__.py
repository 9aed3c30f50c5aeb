"""Loops: facts, each with the time from which on it holds, and the rounds in which they are found."""
