"""What is left to `make check`, beside tests that say so themselves: it is slow, and others of its kind stay."""

from __future__ import annotations

__all__ = ["LEFT_TO_CHECK", "is_left"]

#: By module.
LEFT_TO_CHECK: dict[str, tuple[str, ...]] = {
    "bench/test_queries.py": (
        "test_data_is_as_selective_as_the_paper_says[alj]",
        "test_data_is_as_selective_as_the_paper_says[llj]",
    ),
    "bench/test_queries_locally.py": (
        "test_published_queries_give_what_plain_python_gives[ahj]",
        "test_published_queries_give_what_plain_python_gives[alj]",
        "test_published_queries_give_what_plain_python_gives[hhj]",
        "test_published_queries_give_what_plain_python_gives[hlj]",
        "test_published_queries_give_what_plain_python_gives[lhj]",
    ),
    "bench/test_queries_on_spark.py": (
        "test_queries_give_what_plain_python_gives[ALJ-A]",
        "test_queries_give_what_plain_python_gives[HHM-A]",
        "test_queries_give_what_plain_python_gives[LLM-A]",
        "test_queries_give_what_plain_python_gives[hlj-A]",
        "test_queries_give_what_plain_python_gives[lhm-A]",
    ),
    "bench/test_sides.py": (
        "test_a_cell_runs_on_the_local_engine[LLM-200.0]",
        "test_a_cell_runs_on_the_local_engine[llj-20.0]",
        "test_all_sides_give_the_same_answers[HHM]",
        "test_all_sides_give_the_same_answers[HLJ]",
    ),
    "check/test_operators.py": (
        "test_checks_may_stop_at_the_first_property_that_is_broken",
        "test_the_report_is_the_same_every_time",
    ),
    "check/test_progress_models.py": (
        "test_the_statements_hold_under_every_schedule[clocks: 2 workers, 3 times]",
        "test_the_statements_hold_under_every_schedule[clocks: 3 workers, 2 times]",
        "test_the_statements_hold_under_every_schedule[exchange: 2 workers]",
        "test_the_statements_hold_under_every_schedule[exchange: 3 operations]",
        "test_the_statements_hold_under_every_schedule[tracker: chain]",
        "test_the_statements_hold_under_every_schedule[tracker: nested loops]",
        "test_with_its_guard_the_same_model_is_fine[exchange, perf_op: sends at a capability]",
    ),
    "check/test_proofs.py": (
        "test_smaller_times_first_is_not_needed_for_safety",
        "test_what_proofs_cite_holds_on_small_sizes[exchange]",
    ),
    "check/test_proofs_and_code.py": ("test_the_proofs_speak_of_the_protocols_that_run[clocks-clocks_of]",),
    "cli/test_run.py": ("test_a_flow_runs_on_files",),
    "flow/test_a_infinity.py": ("test_on_spark_it_is_a_infinity_too",),
    "flow/test_cases.py": (
        "test_case[spark-iterate: a chain that comes from its far end: old facts go through new edges, and new facts "
        "through old edges]",
        "test_case[local, bounded-calendar: weeks and months of a zone]",
        "test_case[local-calendar: weeks and months of a zone]",
        "test_case[spark, bounded-ordered: iterate: what follows from the edges at or below a time]",
    ),
    "flow/test_graph.py": (
        "test_complete_is_what_is_true_of_each_version[triangles]",
        "test_pagerank_is_a_power_iteration",
    ),
    "flow/test_spark_agrees.py": ("test_derived_types_are_those_of_spark",),
    "live/test_browser.py": ("test_why_is_asked_and_answered_by_keyboard",),
    "local_engine/test_calendars.py": (
        "test_a_broken_calendar_is_found[_let_go_early]",
        "test_a_broken_calendar_is_found[_twice]",
    ),
    "local_engine/test_clocks.py": ("test_a_run_that_hears_the_clock_ends_all_the_same",),
    "local_engine/test_crashes.py": (
        "test_a_run_that_dies_again_and_again_gives_what_an_undisturbed_one_gives[1]",
        "test_killed_processes_are_continued_by_the_next",
    ),
    "local_engine/test_csv_files.py": (
        "test_both_ways_give_the_same",
        "test_values_that_are_written_again_are_those_of_patterns",
    ),
    "local_engine/test_intervals.py": (
        "test_whether_a_row_was_met_is_known_until_it_settles[anti]",
        "test_whether_a_row_was_met_is_known_until_it_settles[left]",
        "test_whether_a_row_was_met_is_known_until_it_settles[semi]",
    ),
    "local_engine/test_papers.py": (
        "test_broken_copies_are_found[_forgotten]",
        "test_broken_copies_are_found[_the_first_alone]",
    ),
    "local_engine/test_random_flows.py": ("test_drawn_graphs[ranks]",),
    "local_engine/test_ranked.py": (
        "test_a_keeper_that_is_wrong_is_noticed[for each key alone]",
        "test_a_keeper_that_is_wrong_is_noticed[for each window]",
        "test_a_keeper_that_is_wrong_is_noticed[without ties]",
    ),
    "local_engine/test_streams.py": (
        "test_a_function_is_given_whole_windows_alone_and_once[calendar]",
        "test_a_silent_partition_is_let_go_by_the_clock",
    ),
    "orders/test_streams.py": (
        "test_another_order_is_refused[spark-smaller]",
        "test_another_order_is_refused[spark-turned]",
    ),
    "spark/test_between_engines.py": ("test_a_flow_on_spark_follows_a_local_one",),
    "spark/test_clocks.py": ("test_rows_arrive_and_clocks_tick",),
    "spark/test_delta.py": ("test_rows_are_added_once_if_a_run_dies_when_they_are_written",),
    "spark/test_integrity.py": (
        "test_rows_on_the_disk_of_a_worker_are_not_committed[state/]",
        "test_rows_that_wait_go_with_their_checkpoint[_moved]",
        "test_what_a_commit_names_is_on_the_disk_before_it",
    ),
    "spark/test_lateness.py": ("test_joins_are_revised[full]",),
    "spark/test_lexicographic_streams.py": (
        "test_a_stream_in_steps[narrow]",
        "test_a_stream_in_steps[wide]",
    ),
    "spark/test_loops.py": (
        "test_loops_give_what_the_specification_gives[pairs-bits]",
        "test_loops_give_what_the_specification_gives[total-seeded]",
    ),
    "spark/test_partitions.py": ("test_a_run_lets_a_silent_partition_go_by_itself",),
    "spark/test_rewrites.py": ("test_a_loop_gives_the_same_rows_in_steps[explode]",),
    "spark/test_streaming_crashes.py": (
        "test_a_run_that_dies_again_and_again_gives_what_an_undisturbed_one_gives[before publishing]",
    ),
    "spark/test_streaming_failures.py": ("test_a_full_disk_stops_a_run_and_nothing_is_lost",),
    "spark/test_streaming_loops.py": ("test_steps_give_what_the_specification_gives[pairs-components]",),
    "spark/test_streaming_state.py": ("test_an_operator_has_its_say_at_the_end_without_rows",),
    "spark/test_takeover.py": (
        "test_a_run_that_is_replaced_at_a_point_stops_and_every_row_comes_once[during commit]",
        "test_a_run_that_is_replaced_while_it_recovers_deletes_nothing_of_the_other[checking]",
        "test_a_run_that_is_replaced_while_it_recovers_deletes_nothing_of_the_other[recovering]",
        "test_a_run_that_is_replaced_while_it_recovers_deletes_nothing_of_the_other[sweeping]",
        "test_a_run_that_sleeps_at_a_point_while_another_ends_its_work_changes_nothing[writing]",
        "test_without_the_fence_in_time_a_run_that_was_replaced_commits[_late_fence]",
    ),
    "test_docs.py": ("test_examples_on_spark_print_what_the_page_says[docs/from-structured-streaming.md]",),
    "test_journal.py": ("test_spark_takes_it_in_a_data_source",),
    "test_wheel.py": (
        "test_each_extra_adds_what_it_is_for",
        "test_pytest_knows_the_kit_without_any_extra",
    ),
}


def is_left(nodeid: str) -> bool:
    """Whether a test is left to `make check`, by the name that pytest has for it."""
    module, _, name = nodeid.partition("::")
    return name in LEFT_TO_CHECK.get(module.removeprefix("tests/"), ())
