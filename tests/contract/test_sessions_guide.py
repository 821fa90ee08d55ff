"""The sessions guide, sentence by sentence: for each promise the tests that hold it, and for each test its promise.

The keys say in our own words what the guide promises, in its order.
"""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from tests.contract import test_sessions_guide_arc as arc
from tests.contract import test_sessions_guide_cli as cli
from tests.contract import test_sessions_guide_lifecycle as lifecycle
from tests.contract import test_sessions_guide_mcp as mcp
from tests.contract import test_sessions_guide_recovery as recovery
from tests.contract import test_sessions_guide_security as security

Test = Callable[..., Any]
MODULES: Final = (lifecycle, cli, recovery, security, mcp, arc)

SENTENCES: Final[dict[str, tuple[Test, ...]]] = {
    # What a session is
    "a session is a durable record of one unit of work, from inspecting to completion": (
        lifecycle.test_one_record_carries_a_unit_of_work_from_inspecting_to_its_completion,
        lifecycle.test_what_one_process_recorded_is_there_for_every_later_one_and_lives_in_no_process,
        arc.test_an_agent_plans_and_is_refused_a_person_approves_the_agent_applies_and_the_record_tells_it_all,
    ),
    "it can be audited": (lifecycle.test_every_change_is_an_event_that_says_what_when_in_which_order_and_through_what,),
    "an agent, or another after a restart, reads what was in flight, what it touched and where it got to": (
        recovery.test_list_and_show_tell_status_checkpoint_and_references_to_a_process_that_knows_nothing,
        recovery.test_an_agent_killed_amid_a_call_left_what_was_acknowledged_or_that_call_as_well,
        recovery.test_an_agent_killed_whenever_it_has_said_something_left_no_less_than_it_said,
        recovery.test_before_each_change_of_a_file_a_call_may_be_killed_and_from_one_of_them_on_it_is_done,
        recovery.test_the_judge_refuses_a_record_that_is_not_what_was_acknowledged,
    ),
    "nothing here decides or carries out the next step; a session runs nothing": (
        lifecycle.test_no_session_command_starts_a_program_or_reaches_out_of_the_machine,
        lifecycle.test_the_watch_sees_whoever_starts_a_program_connects_or_signals,
        recovery.test_what_is_read_holds_what_was_recorded_and_no_advice_what_to_do_next,
    ),
    "its id identifies and is no credential": (security.test_the_id_of_a_session_names_a_record_and_opens_nothing,),
    "it references by id and is no second source of truth": (
        lifecycle.test_a_session_knows_ids_of_plans_operations_and_deployments_and_never_their_state,
    ),
    "closing it stops, cancels and changes nothing else": (
        lifecycle.test_closing_ends_the_tracking_and_touches_no_process_operation_deployment_plan_or_application,
        arc.test_closing_a_session_amid_an_apply_ends_nothing_of_it_and_leaves_all_records_of_it,
    ),
    # Lifecycle
    "create gives an active one, a checkpoint keeps it active": (
        lifecycle.test_create_makes_an_active_session_and_a_checkpoint_keeps_it_active,
    ),
    "complete, fail and cancel each lead to their own end, and no end leads on": (
        lifecycle.test_each_closing_verb_leads_to_its_own_end_and_from_there_no_verb_leads_on,
    ),
    "a change of a closed session is refused by its code and the record stays as it is": (
        lifecycle.test_each_closing_verb_leads_to_its_own_end_and_from_there_no_verb_leads_on,
        security.test_an_invalid_transition_leaves_the_record_and_links_nothing,
    ),
    "completed is reported and not verified, and a failed operation does not make a failed session": (
        lifecycle.test_completed_is_what_the_agent_reports_and_a_failed_operation_forces_nothing,
    ),
    "health is looked up with commands of its own": (
        arc.test_health_and_deployment_are_looked_up_live_and_no_session_says_anything_of_them,
    ),
    # Schema
    "one private JSON file a session, under its id": (
        lifecycle.test_a_session_is_one_file_of_its_id_that_only_its_owner_may_read_whatever_the_umask,
    ),
    "the same state is the same bytes": (lifecycle.test_the_same_state_is_the_same_bytes_but_for_ids_and_times,),
    "the fields, their types and their order": (
        lifecycle.test_a_record_has_the_fields_of_the_guide_with_their_types_in_their_order,
        lifecycle.test_a_record_as_the_guides_tool_writes_it_opens_and_goes_on,
    ),
    "the id is minted at creation": (lifecycle.test_an_id_is_minted_at_creation_and_nobody_can_choose_it,),
    "the actor is provenance, made on our side and never taken from a client": (
        security.test_no_option_of_any_verb_names_an_actor,
        security.test_the_surroundings_name_no_actor_either,
        mcp.test_no_argument_names_an_actor_and_no_byte_changes_when_one_tries,
    ),
    "the revision only rises, and is what a guard compares": (
        lifecycle.test_a_revision_rises_by_one_with_every_change_and_with_nothing_else_and_events_are_only_added,
        cli.test_a_guarded_change_applies_at_its_revision_and_is_otherwise_refused_until_it_is_read_again,
    ),
    "events are only added, honest, and not signed": (
        lifecycle.test_a_revision_rises_by_one_with_every_change_and_with_nothing_else_and_events_are_only_added,
        lifecycle.test_every_change_is_an_event_that_says_what_when_in_which_order_and_through_what,
        lifecycle.test_the_history_is_ordered_and_counted_and_not_signed,
    ),
    "too much is refused and never cut": (
        lifecycle.test_text_up_to_its_cap_is_stored_whole_and_a_byte_more_is_refused_and_never_cut,
    ),
    "all free text passes the redactor before it is stored": (
        lifecycle.test_free_text_is_stored_and_told_without_the_secret_in_it,
    ),
    # CLI
    "every command takes --json and answers the one envelope": (
        cli.test_every_command_answers_one_envelope_with_json_and_the_same_status_without,
    ),
    "the seven command lines": (cli.test_each_line_of_the_guide_does_what_it_says,),
    "four verbs take a revision as a guard; a conflict may be retried after reading again": (
        cli.test_a_guarded_change_applies_at_its_revision_and_is_otherwise_refused_until_it_is_read_again,
        cli.test_what_changes_no_record_takes_no_guard,
    ),
    "no answer has an operation's id": (cli.test_no_session_answer_has_an_operation_id_for_a_session_is_no_operation,),
    "show tells four states of references": (
        cli.test_show_tells_of_each_reference_whether_it_is_present_missing_unavailable_or_unknown,
    ),
    # Recovery after an interruption
    "a restarted agent goes on by reading, from wherever the other was killed": (
        recovery.test_an_agent_killed_amid_a_call_left_what_was_acknowledged_or_that_call_as_well,
        recovery.test_an_agent_killed_whenever_it_has_said_something_left_no_less_than_it_said,
        recovery.test_before_each_change_of_a_file_a_call_may_be_killed_and_from_one_of_them_on_it_is_done,
        recovery.test_a_fresh_server_answers_with_what_a_killed_one_acknowledged_or_the_call_it_died_in_as_well,
        recovery.test_the_judge_refuses_a_record_that_is_not_what_was_acknowledged,
    ),
    "an interrupted plan is never run again": (
        recovery.test_no_reading_and_no_closing_takes_up_an_interrupted_operation,
        arc.test_whoever_follows_the_four_steps_after_a_kill_amid_an_apply_learns_the_truth,
    ),
    "an incomplete operation is never taken for a failed one": (
        recovery.test_an_operation_is_told_as_it_really_is_and_an_incomplete_one_never_as_failed,
        arc.test_an_operations_real_status_is_told_whoever_carried_it_out_and_whatever_became_of_them,
    ),
    "step 1: find sessions, read status, checkpoint and references": (
        recovery.test_list_and_show_tell_status_checkpoint_and_references_to_a_process_that_knows_nothing,
        mcp.test_an_agent_that_only_has_the_tools_can_tell_what_was_in_flight_and_where_it_got_to,
    ),
    "step 2: look whether each linked plan still applies": (
        arc.test_a_linked_plan_goes_stale_with_what_it_took_for_granted_and_the_session_stays_as_it_is,
        arc.test_whoever_follows_the_four_steps_after_a_kill_amid_an_apply_learns_the_truth,
        recovery.test_a_plan_that_changed_or_went_since_it_was_linked_is_told_at_the_next_reading,
    ),
    "step 3: read each linked operation's real status with a command of its own": (
        arc.test_an_operations_real_status_is_told_whoever_carried_it_out_and_whatever_became_of_them,
        arc.test_whoever_follows_the_four_steps_after_a_kill_amid_an_apply_learns_the_truth,
        recovery.test_an_operation_is_told_as_it_really_is_and_an_incomplete_one_never_as_failed,
    ),
    "step 4: inspect the live state": (
        arc.test_health_and_deployment_are_looked_up_live_and_no_session_says_anything_of_them,
        arc.test_whoever_follows_the_four_steps_after_a_kill_amid_an_apply_learns_the_truth,
        arc.test_an_agent_that_only_has_the_tools_follows_the_same_four_steps,
    ),
    "what comes next is the agent's to decide": (
        recovery.test_what_is_read_holds_what_was_recorded_and_no_advice_what_to_do_next,
    ),
    # Authorization & security
    "a session, a change of it and a link grant nothing": (
        security.test_the_id_of_a_session_names_a_record_and_opens_nothing,
        security.test_linking_a_plan_that_needs_approval_leaves_the_plan_the_policy_and_the_absence_of_an_approval,
        arc.test_over_mcp_without_a_policy_a_plan_is_denied_linked_or_not,
    ),
    "only plan apply executes, through an unchanged authorization boundary": (
        arc.test_of_all_commands_plan_apply_alone_starts_what_an_application_declares,
        arc.test_over_mcp_without_a_policy_a_plan_is_denied_linked_or_not,
        lifecycle.test_no_session_command_starts_a_program_or_reaches_out_of_the_machine,
    ),
    "a plan that needs approval still answers APPROVAL_REQUIRED once it is linked": (
        arc.test_a_plan_that_needs_approval_answers_so_linked_or_not_and_once_approved_it_runs_exactly_once,
        security.test_linking_a_plan_that_needs_approval_leaves_the_plan_the_policy_and_the_absence_of_an_approval,
    ),
    "there is no --actor, and nothing else that names one": (
        security.test_no_option_of_any_verb_names_an_actor,
        security.test_the_surroundings_name_no_actor_either,
        arc.test_no_word_and_no_variable_names_who_plans_approves_or_applies,
    ),
    "MCP records mcp, the command line cli, and the two never merge": (
        mcp.test_the_two_provenances_never_merge_in_a_record_that_both_write,
        arc.test_who_asks_over_mcp_is_mcp_to_the_policy_the_plan_the_operation_and_the_log,
    ),
    "missing, malformed and corrupt records fail by their codes and nothing changes": (
        security.test_a_missing_record_is_not_found_and_nothing_is_made_for_it,
        security.test_a_malformed_id_is_refused_before_anything_is_looked_for,
        security.test_a_corrupt_record_is_refused_with_its_code_by_every_verb_and_never_repaired_by_one,
        security.test_a_reference_that_cannot_be_trusted_is_named_and_none_is_linked,
        arc.test_a_policy_that_cannot_be_understood_or_allows_nobody_lets_nobody_execute,
        arc.test_a_policy_that_is_a_link_lets_nobody_execute,
        arc.test_a_plan_that_was_changed_by_a_byte_is_never_executed,
    ),
    "invalid transitions leave the record": (security.test_an_invalid_transition_leaves_the_record_and_links_nothing,),
    "no secrets": (lifecycle.test_free_text_is_stored_and_told_without_the_secret_in_it,),
    "the history is ordered and only added to, but whoever can write can change it": (
        lifecycle.test_the_history_is_ordered_and_counted_and_not_signed,
    ),
    "the data directory is the trust boundary": (
        security.test_records_are_kept_in_the_home_folder_unless_told_otherwise_and_nobody_else_may_enter,
        security.test_a_data_directory_that_others_may_enter_is_told_by_the_doctor,
    ),
    # MCP tools
    "six session tools": (mcp.test_the_session_tools_are_six_and_to_cancel_is_not_among_them,),
    "they are the command line's own logic": (
        mcp.test_a_tool_and_a_command_store_the_same_and_answer_the_same_also_when_they_refuse,
    ),
    "over local pipes": (
        mcp.test_no_session_tool_executes_authorizes_or_touches_a_deployment_and_the_server_has_pipes_alone,
    ),
    "to fail is among them, so that nobody calls completed what is not": (
        mcp.test_work_that_did_not_succeed_is_told_as_failed_and_then_never_as_completed,
    ),
    "to cancel, and to guard by a revision, is the command line's alone": (
        mcp.test_the_session_tools_are_six_and_to_cancel_is_not_among_them,
        mcp.test_a_guard_by_revision_is_for_the_command_line_alone,
    ),
    "none of them executes, authorizes or changes a deployment": (
        mcp.test_no_session_tool_executes_authorizes_or_touches_a_deployment_and_the_server_has_pipes_alone,
    ),
    "what is made through them says so by itself": (
        mcp.test_the_two_provenances_never_merge_in_a_record_that_both_write,
    ),
}


def run_from(module: ModuleType) -> set[Test]:
    return {member for name, member in vars(module).items() if name.startswith("test_") and callable(member)}


def test_every_module_of_the_guides_tests_is_in_the_table() -> None:
    here = Path(__file__)
    beside = {path.stem for path in here.parent.glob("test_sessions_guide_*.py")}
    assert {module.__name__.rpartition(".")[2] for module in MODULES} == beside


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition("_")[2])
def test_every_test_of_the_guide_holds_a_promise(module: ModuleType) -> None:
    named = {test for tests in SENTENCES.values() for test in tests}
    assert {test.__name__ for test in run_from(module) - named} == set()


def test_every_promise_of_the_guide_has_a_test_that_is_run() -> None:
    run = {test for module in MODULES for test in run_from(module)}
    assert len(run) > 30
    for promise, tests in SENTENCES.items():
        assert tests, promise
        assert set(tests) <= run, promise
        assert len(set(tests)) == len(tests), promise
