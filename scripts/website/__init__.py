"""The documentation as a site: the pages that are in the repository, and pages of the API from docstrings."""
