"""The twenty public reports that must not be ours: for each the tests that hold it, and a naive version that fails.

The numbers are those of the console page, section "Public bugs that must not be ours"; the order is that of value
first, then of the page.
"""

import inspect
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from tests.tui import test_arrangement as arrangement
from tests.tui import test_cells as cells
from tests.tui import test_console_acting as acting
from tests.tui import test_console_agrees as agrees
from tests.tui import test_console_approvals as approvals
from tests.tui import test_console_bulk as bulk
from tests.tui import test_console_conflict as conflict
from tests.tui import test_console_hostile_text as hostile_text
from tests.tui import test_console_marks as marks
from tests.tui import test_console_queue as queue
from tests.tui import test_console_reports as reports
from tests.tui import test_console_views as views
from tests.tui import test_console_watching as watching
from tests.tui import test_feed as feed
from tests.tui import test_fuzz as fuzz
from tests.tui import test_guard as guard
from tests.tui import test_monkey as monkey
from tests.tui import test_plain as plain
from tests.tui import test_pty_approvals as pty_approvals
from tests.tui import test_pty_console as pty
from tests.tui import test_rowlist as rowlist
from tests.tui import test_terminal as terminal
from tests.tui import test_watch as watch

Test = Callable[..., Any]


class Held(NamedTuple):
    """What a report is, what holds it, and what shows that a careless version would not pass."""

    what: str
    by: tuple[Test, ...]
    naive: tuple[Test, ...]


REPORTS: Final[dict[int, Held]] = {
    2: Held(
        "escapes of records reach the terminal",
        (
            pty.test_no_sequence_of_a_record_reaches_the_terminal,
            pty.test_no_sequence_of_a_record_reaches_a_pipe_or_a_terminal_from_the_command_line,
            pty.test_what_is_pasted_into_a_field_sends_no_sequences_either,
            pty_approvals.test_what_begins_to_wait_rings_once_and_what_a_command_prints_is_text,
            plain.test_whatever_stands_in_records_a_line_is_one_line_and_safe,
            fuzz.test_a_terminal_gets_no_kind_of_sequence_from_such_records_that_it_does_not_get_from_plain_ones,
        ),
        (
            pty.test_the_naive_way_sends_them,
            fuzz.test_a_terminal_gets_no_kind_of_sequence_from_such_records_that_it_does_not_get_from_plain_ones,
        ),
    ),
    1: Held(
        "markup of records crashes the screen or runs an action",
        (
            hostile_text.test_no_text_of_a_record_breaks_a_screen,
            hostile_text.test_no_text_of_a_record_breaks_a_dialog,
            hostile_text.test_what_the_operator_types_is_text_as_well,
            hostile_text.test_theme_files_of_any_name_are_told_of_as_text,
            queue.test_no_text_of_the_queue_breaks_a_screen,
            approvals.test_no_text_of_a_plan_or_a_log_breaks_a_screen_or_is_obeyed,
            fuzz.test_no_text_of_a_session_breaks_a_room_a_dialog_or_a_toast_or_is_obeyed,
            fuzz.test_no_text_of_an_issue_breaks_a_room_or_a_dialog_or_is_obeyed,
            fuzz.test_no_text_of_a_plan_breaks_a_room_or_a_dialog_or_is_obeyed,
            fuzz.test_no_text_of_a_view_or_a_theme_breaks_the_menu_or_a_toast_or_is_obeyed,
        ),
        (hostile_text.test_the_naive_way_crashes_and_runs_what_a_record_says,),
    ),
    4: Held(
        "the cursor is kept by place, and hits another row",
        (
            acting.test_a_session_that_is_selected_while_another_moves_stays_the_target,
            acting.test_a_confirmation_is_about_the_session_it_was_opened_for,
            rowlist.test_rows_that_come_go_and_move_leave_the_cursor_on_its_id,
            monkey.test_whatever_is_pressed_while_everything_changes_nothing_fails_and_nothing_unconfirmed_is_written,
        ),
        (acting.test_a_naive_cursor_by_place_would_have_hit_another_session,),
    ),
    12: Held(
        "what was taken over between dialog and apply is written over",
        (
            queue.test_a_takeover_between_dialog_and_apply_is_refused_with_nothing_written,
            queue.test_a_dialog_closes_its_button_as_soon_as_the_holder_is_heard_of,
            conflict.test_a_record_that_changed_between_opening_and_apply_is_not_written,
            approvals.test_a_plan_that_is_swapped_under_the_dialog_is_never_approved,
            views.test_a_view_that_changed_under_its_confirmation_is_not_written_over,
        ),
        (
            conflict.test_a_naive_write_without_the_revision_would_have_closed_the_others_work,
            approvals.test_a_command_without_the_hash_would_have_approved_what_was_swapped,
        ),
    ),
    3: Held(
        "hidden marks are acted on unseen",
        (
            bulk.test_ten_marked_and_two_shown_the_dialog_names_the_eight_and_wants_the_number,
            marks.test_marks_outlive_a_filter_and_those_it_hides_are_counted,
        ),
        (bulk.test_a_naive_bulk_acts_on_what_nobody_sees_without_a_word,),
    ),
    6: Held(
        "renames are missed, and half-written records flash as broken",
        (
            feed.test_a_thousand_renames_into_place_all_arrive_and_none_reads_as_broken,
            feed.test_a_record_that_is_truncated_and_then_written_never_flashes_as_unreadable,
            watch.test_a_thousand_rename_replaces_are_all_seen_in_the_end,
        ),
        (
            watch.test_watching_the_file_itself_loses_the_second_replace,
            feed.test_a_naive_reader_of_a_record_that_is_written_in_place_sees_it_broken,
        ),
    ),
    8: Held(
        "events that overflow are lost for good",
        (
            feed.test_events_that_are_lost_are_made_up_for_by_the_next_full_look,
            watch.test_dropped_events_of_a_write_in_place_heal_within_one_period,
            watch.test_dropped_events_of_a_rename_are_missed_by_the_look_much_sooner,
        ),
        (watch.test_without_the_layers_a_dropped_event_is_never_seen,),
    ),
    5: Held(
        "read-only leaks through one view",
        (
            watching.test_read_only_disables_every_action_with_the_reason_and_the_core_refuses_as_well,
            reports.test_in_read_only_mode_no_entry_of_the_palette_in_any_room_changes_a_byte,
            queue.test_read_only_offers_nothing_and_the_core_refuses,
            approvals.test_read_only_says_so_of_every_action_on_a_plan,
            views.test_read_only_says_why_nothing_is_saved_or_removed_and_the_core_refuses_it,
            bulk.test_nothing_is_written_in_read_only_and_the_menu_says_why,
        ),
        (reports.test_in_read_only_mode_no_entry_of_the_palette_in_any_room_changes_a_byte,),
    ),
    7: Held(
        "no watch is left",
        (
            watch.test_a_refused_watch_turns_to_polling_and_comes_back,
            watch.test_without_a_descriptor_left_the_folder_is_polled,
            reports.test_where_the_system_refuses_a_watch_the_console_polls_says_so_and_misses_nothing,
        ),
        (reports.test_a_plain_watch_that_is_refused_ends_with_the_error,),
    ),
    9: Held(
        "a folder that is deleted and made again is never seen again",
        (
            watch.test_a_folder_made_anew_is_watched_again,
            watching.test_the_list_recovers_when_its_folder_is_deleted_and_made_again,
        ),
        (watch.test_plain_watching_is_silent_after_the_folder_was_made_anew,),
    ),
    10: Held(
        "what is read wakes the reader",
        (
            feed.test_an_idle_folder_is_not_read,
            watch.test_an_idle_folder_says_nothing_and_ignored_names_do_not_either,
            queue.test_a_quiet_queue_is_never_read_again,
            pty.test_an_idle_console_sends_nothing,
        ),
        (reports.test_a_reader_that_keeps_notes_in_the_folder_it_watches_never_comes_to_rest,),
    ),
    11: Held(
        "clocks that disagree make ages negative, or work stale",
        (
            reports.test_a_clock_that_is_off_shows_no_negative_age_and_makes_nothing_stale,
            arrangement.test_a_clock_that_is_set_back_and_runs_again_leaves_no_row_behind,
        ),
        (reports.test_a_naive_age_is_negative_under_such_a_clock,),
    ),
    13: Held(
        "what goes on behind a dialog floods the line",
        (reports.test_a_dialog_is_quiet_while_two_hundred_records_a_second_change_and_the_list_is_not,),
        (reports.test_a_dialog_is_quiet_while_two_hundred_records_a_second_change_and_the_list_is_not,),
    ),
    14: Held(
        "a failure to read looks like nothing there",
        (
            reports.test_a_folder_that_may_not_be_read_is_told_as_such_on_a_terminal,
            watching.test_a_sessions_folder_that_is_a_file_is_an_error_and_no_empty_list,
            watching.test_rows_stay_and_are_marked_old_while_the_folder_cannot_be_read,
            queue.test_a_queue_that_cannot_be_read_names_the_code_and_keeps_the_last_rows,
            approvals.test_a_folder_that_cannot_be_read_is_told_and_takes_no_row_away,
            feed.test_a_folder_that_cannot_be_read_is_told_as_such_and_tried_again,
        ),
        (reports.test_a_naive_listing_of_such_a_folder_is_empty_and_says_nothing,),
    ),
    15: Held(
        "a signal or a closed terminal leaves modes on or a process spinning",
        (
            pty.test_a_signal_restores_the_terminal_and_ends_the_console,
            pty.test_a_terminal_that_goes_away_ends_the_console,
            terminal.test_a_signal_restores_the_terminal_and_ends_the_process,
            terminal.test_a_closed_terminal_ends_the_process,
        ),
        (
            terminal.test_without_the_watchdog_a_signal_leaves_the_modes_on,
            terminal.test_without_the_watchdog_a_closed_terminal_leaves_a_busy_process_behind,
        ),
    ),
    16: Held(
        "wide, joined and stacked characters move the columns",
        (
            pty.test_every_line_is_as_wide_as_the_terminal_whatever_the_titles,
            cells.test_every_width_is_met_by_every_way_of_counting,
            rowlist.test_the_right_edge_stands_straight_on_a_real_terminal,
        ),
        (cells.test_padding_by_length_fails_the_same_corpus,),
    ),
    17: Held(
        "a tiny terminal crashes it",
        (
            pty.test_a_storm_of_sizes_with_dialogs_open_ends_in_a_whole_screen,
            watching.test_every_screen_survives_every_size,
            rowlist.test_the_same_widget_survives_a_storm_of_sizes,
            monkey.test_keys_sizes_and_signals_on_a_real_terminal_end_as_one_wants,
        ),
        (reports.test_a_storm_of_sizes_reaches_widgets_at_widths_at_which_careless_arithmetic_fails,),
    ),
    18: Held(
        "a paste is taken for keys",
        (
            pty.test_a_paste_on_the_list_or_in_a_room_does_nothing,
            pty.test_a_paste_into_a_dialog_is_text_for_its_field_and_never_an_answer,
            guard.test_a_paste_anywhere_does_nothing,
            guard.test_typeahead_on_a_real_terminal,
        ),
        (
            guard.test_the_same_typeahead_answers_without_the_guard,
            monkey.test_a_console_whose_guard_is_off_is_found_out,
        ),
    ),
    19: Held(
        "command line, rows and counts disagree",
        (
            agrees.test_rows_counts_and_the_command_line_agree_on_a_random_fleet,
            plain.test_it_begins_with_a_line_a_session_attention_first,
        ),
        (reports.test_counts_of_what_records_say_of_themselves_are_not_those_of_the_header,),
    ),
    20: Held(
        "a status that is not known drops the record",
        (watching.test_an_unknown_status_or_version_is_listed_flagged_and_never_changed,),
        (reports.test_a_list_of_known_statuses_alone_drops_a_record_without_a_word,),
    ),
}
BY_VALUE: Final = (2, 1, 4, 12, 3, 6, 8, 5)


def test_every_report_is_in_the_table_in_the_order_of_value() -> None:
    rest = tuple(number for number in range(1, 21) if number not in BY_VALUE)
    assert tuple(REPORTS) == BY_VALUE + rest


@pytest.mark.parametrize("number", REPORTS)
def test_every_report_is_held_by_tests_that_are_run_and_fails_a_naive_version(number: int) -> None:
    held = REPORTS[number]
    assert held.what
    assert held.by
    assert held.naive
    for test in (*held.by, *held.naive):
        module = inspect.getmodule(test)
        assert module is not None
        assert module.__name__.rpartition(".")[2].startswith("test_"), test
        assert test.__name__.startswith("test_"), test
        assert getattr(module, test.__name__) is test, "a test of that name is what pytest runs"
