"""Commits: what each step leaves behind, the directories of results that they name, and commits of earlier versions."""
