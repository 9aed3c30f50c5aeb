"""Functions of Spark that have no meaning on a stream, and those that are called without parentheses."""

from __future__ import annotations

__all__ = ["GENERATORS", "UNREPEATABLE", "WINDOW_ONLY", "WITHOUT_PARENTHESES", "words"]


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


#: They make several rows out of one.
GENERATORS = words(
    """
    explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple variant_explode
    """
)

#: They need a window over rows, which a stream gives by `accumulate`, `window` and `session`.
WINDOW_ONLY = words(
    """
    row_number rank dense_rank percent_rank ntile cume_dist lag lead nth_value
    """
)

#: They return something else when they are called again, so a replay would decide differently.
UNREPEATABLE = words(
    """
    current_date curdate current_timestamp current_time localtimestamp now rand randn random randstr uniform uuid
    shuffle monotonically_increasing_id spark_partition_id input_file_name input_file_block_start
    input_file_block_length
    """
)

#: Functions that may be called without parentheses.
WITHOUT_PARENTHESES = words("current_date current_timestamp current_time localtimestamp")
