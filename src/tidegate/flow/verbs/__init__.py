"""The methods of streams. In the examples, ``edits`` is a source with the columns ``ts``, ``page`` and ``bytes``."""
