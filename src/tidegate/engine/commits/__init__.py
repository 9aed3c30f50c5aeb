"""Commits: what each step records, the directories of results that they name, and upgrades of earlier formats."""
