"""The live page: a server that shows runs, whether they still run or not. It reads checkpoints, and never writes.

>>> page = Page(port=0)
>>> page.add("no/such/checkpoint").startswith("http://127.0.0.1:")
True
>>> page.close()
"""

from tidegate.live.server import PORT, Page
from tidegate.live.shared_page import open_page

__all__ = ["PORT", "Page", "open_page"]
