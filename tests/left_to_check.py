"""What is left to `make check`, beside tests that say so themselves: it is slow, and others of its kind stay."""

from __future__ import annotations

__all__ = ["LEFT_TO_CHECK", "is_left"]

#: By module.
LEFT_TO_CHECK: dict[str, tuple[str, ...]] = {
    "bench/test_evaluation.py": (
        "test_who_is_killed_goes_on[1]",
        "test_who_is_killed_goes_on[20]",
    ),
    "bench/test_queries.py": (
        "test_data_is_as_selective_as_the_paper_says[alj]",
        "test_data_is_as_selective_as_the_paper_says[llj]",
    ),
    "bench/test_queries_locally.py": (
        "test_published_queries_give_what_plain_python_gives[flink-ahj]",
        "test_published_queries_give_what_plain_python_gives[flink-alj]",
        "test_published_queries_give_what_plain_python_gives[flink-hhj]",
        "test_published_queries_give_what_plain_python_gives[flink-hlj]",
        "test_published_queries_give_what_plain_python_gives[flink-lhj]",
        "test_published_queries_give_what_plain_python_gives[flink-llj]",
        "test_queries_give_what_plain_python_gives[ahj-]",
        "test_queries_give_what_plain_python_gives[hhj-]",
        "test_queries_give_what_plain_python_gives[lhj-]",
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
        "test_each_guard_is_needed_or_is_known_not_to_be[exchange, perf_op: may have no effect]",
        "test_each_guard_is_needed_or_is_known_not_to_be[exchange, send_upd: \\u03b3 may be empty]",
        "test_each_guard_is_needed_or_is_known_not_to_be[tracker, recv_upd: no init, and any time in "
        "change_multiplicity]",
        "test_the_statements_hold_under_every_schedule[clocks: 2 workers, 3 times]",
        "test_the_statements_hold_under_every_schedule[clocks: 3 workers, 2 times]",
        "test_the_statements_hold_under_every_schedule[exchange: 2 workers]",
        "test_the_statements_hold_under_every_schedule[exchange: 3 operations]",
        "test_the_statements_hold_under_every_schedule[exchange: 3 workers]",
        "test_the_statements_hold_under_every_schedule[propagation: nested loops]",
        "test_the_statements_hold_under_every_schedule[tracker: chain]",
        "test_the_statements_hold_under_every_schedule[tracker: loop]",
        "test_the_statements_hold_under_every_schedule[tracker: nested loops]",
        "test_with_its_guard_the_same_model_is_fine[exchange, perf_op: sends at a capability]",
    ),
    "check/test_proofs.py": (
        "test_smaller_times_first_is_not_needed_for_safety",
        "test_what_proofs_cite_holds_on_small_sizes[exchange]",
    ),
    "check/test_proofs_and_code.py": (
        "test_drawn_steps_are_of_every_kind",
        "test_the_proofs_speak_of_the_protocols_that_run[clocks-clocks_of]",
    ),
    "check/test_proofs_of_graphs_and_code.py": ("test_the_proof_of_propagation_speaks_of_what_runs[loop]",),
    "check/test_replays.py": (
        "test_frontiers_are_as_written_after_every_step[all protocols-nested]",
        "test_frontiers_are_as_written_after_every_step[fast tracker-nested]",
        "test_frontiers_are_as_written_after_every_step[simulation-iterate]",
        "test_frontiers_are_as_written_after_every_step[simulation-nested]",
    ),
    "cli/test_run.py": ("test_a_flow_runs_on_files",),
    "cli/test_run_locally.py": ("test_a_signal_ends_a_run_after_its_step[2]",),
    "demos/test_harbour.py": ("test_the_story_of_a_history",),
    "examples/test_nexmark.py": (
        "test_bounded_on_spark[q19]",
        "test_on_streams[q18]",
        "test_on_streams[q19]",
        "test_on_streams[q20]",
        "test_on_streams[q4]",
        "test_on_streams[q6]",
        "test_on_streams[q9]",
    ),
    "flow/test_a_infinity.py": ("test_on_spark_it_is_a_infinity_too",),
    "flow/test_cases.py": (
        "test_case[local, bounded-calendar: weeks and months of a zone]",
        "test_case[local-calendar: weeks and months of a zone]",
        "test_case[spark, bounded-ordered: iterate: what follows from the edges at or below a time]",
        "test_case[spark-iterate: a chain that comes from its far end: old facts go through new edges, and new "
        "facts through old edges]",
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
    "local_engine/test_positions.py": (
        "test_a_commit_with_the_position_of_the_step_before_is_caught[published]",
        "test_a_position_of_the_step_before_is_caught[function]",
        "test_a_position_of_the_step_before_is_caught[reader]",
    ),
    "local_engine/test_random_flows.py": (
        "test_drawn_graphs[all components]",
        "test_drawn_graphs[bits]",
        "test_drawn_graphs[counted]",
        "test_drawn_graphs[nearest]",
        "test_drawn_graphs[ranks]",
        "test_drawn_graphs[sets]",
    ),
    "local_engine/test_ranked.py": (
        "test_a_keeper_that_is_wrong_is_noticed[for each key alone]",
        "test_a_keeper_that_is_wrong_is_noticed[for each window]",
        "test_a_keeper_that_is_wrong_is_noticed[without ties]",
    ),
    "local_engine/test_streams.py": (
        "test_a_function_is_given_whole_windows_alone_and_once[calendar]",
        "test_a_silent_partition_is_let_go_by_the_clock",
    ),
    "local_engine/test_timers.py": ("test_calls_come_once_wherever_steps_end[options1-operator1]",),
    "local_engine/test_troubles.py": ("test_state_that_is_larger_than_memory_goes_to_the_disk",),
    "orders/test_streams.py": (
        "test_another_order_is_refused[spark-smaller]",
        "test_another_order_is_refused[spark-turned]",
        "test_one_bound_for_each_side_of_a_sum[spark]",
        "test_rows_that_are_not_in_the_order_are_counted[spark]",
        "test_the_frontier_becomes_empty_when_all_elements_are_complete[spark]",
        "test_two_orders_in_one_flow_each_go_on_with_their_own[spark]",
    ),
    "spark/test_aggregates.py": ("test_so_far_on_one_clock[running]",),
    "spark/test_between_engines.py": ("test_a_flow_on_spark_follows_a_local_one",),
    "spark/test_clocks.py": ("test_rows_arrive_and_clocks_tick",),
    "spark/test_delta.py": ("test_rows_are_added_once_if_a_run_dies_when_they_are_written",),
    "spark/test_edges.py": (
        "test_times_beyond_those_of_python_are_rejected_and_move_no_frontier[DATE]",
        "test_times_beyond_those_of_python_are_rejected_and_move_no_frontier[TIMESTAMP_NTZ]",
    ),
    "spark/test_functions.py": (
        "test_a_time_that_was_not_given",
        "test_apply_batch_is_the_fast_path",
        "test_nothing_is_no_result",
    ),
    "spark/test_integrity.py": (
        "test_a_damaged_commit_is_refused",
        "test_rows_on_the_disk_of_a_worker_are_not_committed[state/]",
        "test_rows_that_wait_go_with_their_checkpoint[_moved]",
        "test_what_a_commit_names_is_on_the_disk_before_it",
    ),
    "spark/test_lateness.py": ("test_joins_are_revised[full]",),
    "spark/test_lexicographic_streams.py": (
        "test_a_stream_in_steps[narrow]",
        "test_a_stream_in_steps[wide]",
        "test_the_frontier_and_what_is_set_aside[narrow]",
    ),
    "spark/test_loops.py": (
        "test_loops_give_what_the_specification_gives[pairs-bits]",
        "test_loops_give_what_the_specification_gives[total-seeded]",
    ),
    "spark/test_odd_files.py": (
        "test_a_record_that_a_power_cut_has_torn_and_nobody_needs_may_be_deleted[commits/1-2]",
        "test_a_record_that_a_power_cut_has_torn_and_nobody_needs_may_be_deleted[sources/0/2-2]",
        "test_a_record_that_a_power_cut_has_torn_and_nobody_needs_may_be_deleted[sources/0/2.compact-2]",
    ),
    "spark/test_outputs.py": ("test_a_column_of_another_type_is_refused_at_the_start",),
    "spark/test_partitions.py": ("test_a_run_lets_a_silent_partition_go_by_itself",),
    "spark/test_postgres.py": (
        "test_rows_of_a_committed_step_go_to_the_table_that_the_sink_has_now",
        "test_the_table_does_not_depend_on_the_cuts",
    ),
    "spark/test_rewrites.py": ("test_a_loop_gives_the_same_rows_in_steps[explode]",),
    "spark/test_streaming.py": (
        "test_a_sink_does_not_come_back_to_a_directory_that_it_left",
        "test_functions_are_called_with_the_rows_and_the_number_of_each_step",
        "test_late_rows_fail_a_run_that_asks_for_it_and_are_counted_when_dropped",
    ),
    "spark/test_streaming_crashes.py": (
        "test_a_run_that_dies_again_and_again_gives_what_an_undisturbed_one_gives[before publishing]",
        "test_late_and_rejected_rows_are_those_expected",
    ),
    "spark/test_streaming_errors.py": ("test_the_wrong_operator_would_be_noticed[anywhere]",),
    "spark/test_streaming_failures.py": (
        "test_a_clock_that_jumps_decides_nothing",
        "test_a_full_disk_stops_a_run_and_nothing_is_lost",
    ),
    "spark/test_streaming_loops.py": ("test_steps_give_what_the_specification_gives[pairs-components]",),
    "spark/test_streaming_metrics.py": ("test_the_console_shows_each_step",),
    "spark/test_streaming_state.py": ("test_an_operator_has_its_say_at_the_end_without_rows",),
    "spark/test_streaming_stop.py": ("test_a_query_that_is_stopped_from_outside_has_not_ended[writing]",),
    "spark/test_takeover.py": (
        "test_a_run_that_is_replaced_at_a_point_stops_and_every_row_comes_once[during commit]",
        "test_a_run_that_is_replaced_while_it_recovers_deletes_nothing_of_the_other[checking]",
        "test_a_run_that_is_replaced_while_it_recovers_deletes_nothing_of_the_other[recovering]",
        "test_a_run_that_is_replaced_while_it_recovers_deletes_nothing_of_the_other[sweeping]",
        "test_a_run_that_sleeps_at_a_point_while_another_ends_its_work_changes_nothing[writing]",
        "test_without_the_fence_in_time_a_run_that_was_replaced_commits[_late_fence]",
    ),
    "test_docs.py": (
        "test_examples_on_spark_print_what_the_page_says[docs/from-structured-streaming.md]",
        "test_examples_print_what_the_page_says[docs/nexmark-recipes.md]",
    ),
    "test_examples.py": ("test_the_histograms_of_the_first_paper[spark]",),
    "test_journal.py": ("test_spark_takes_it_in_a_data_source",),
    "test_wheel.py": (
        "test_each_extra_adds_what_it_is_for",
        "test_pytest_knows_the_kit_without_any_extra",
    ),
    "testing/test_cuts.py": (
        "test_engines_that_depend_on_the_cut_are_caught_and_shrunk[answers again after a restart]",
    ),
}


def is_left(nodeid: str) -> bool:
    """Whether a test is left to `make check`, by the name that pytest has for it."""
    module, _, name = nodeid.partition("::")
    return name in LEFT_TO_CHECK.get(module.removeprefix("tests/"), ())
