"""What is known of Spark's functions by name: which aggregate, and which have no meaning on a stream."""

from __future__ import annotations

__all__ = [
    "AGGREGATES",
    "GENERATORS",
    "MERGEABLE",
    "ORDER_SENSITIVE",
    "UNREPEATABLE",
    "WINDOW_ONLY",
    "WITHOUT_PARENTHESES",
]


def words(text: str) -> frozenset[str]:
    """Answer the words of a text as a set."""
    return frozenset(text.split())


#: Every aggregate function that Spark has; a test compares this with Spark's own list.
AGGREGATES = words(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or
    collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp every first
    first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance vector_avg vector_sum
    """
)

#: Aggregates whose result depends on the order of the rows: they see rows sorted by time, then by all columns.
ORDER_SENSITIVE = words(
    """
    any_value array_agg collect_list first first_value last last_value listagg string_agg
    """
)

#: Aggregates of which two partial results make one: state is as large as the number of groups, not of rows.
MERGEABLE = words(
    """
    any any_value avg bit_and bit_or bit_xor bool_and bool_or count count_if every first first_value last last_value max
    max_by mean min min_by regr_count some sum
    """
)

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

#: They answer something else when asked again, so that a replay would decide otherwise.
UNREPEATABLE = words(
    """
    current_date curdate current_timestamp current_time localtimestamp now rand randn random randstr uniform uuid
    shuffle monotonically_increasing_id spark_partition_id input_file_name input_file_block_start
    input_file_block_length
    """
)

#: Functions that may be called without parentheses.
WITHOUT_PARENTHESES = words("current_date current_timestamp current_time localtimestamp")
