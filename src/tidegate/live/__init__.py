"""Checkpoints as those see them who look on: of runs that are alive or dead; nothing is ever written."""
