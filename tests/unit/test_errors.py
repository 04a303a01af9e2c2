"""Errors tell a caller what can be done: five families, stable codes, a sentence a person can act on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import journal
from journal import errors
from journal.errors import Conflict, Corrupt, Failed, JournalError, Refused, Unavailable

FAMILIES = (Refused, Conflict, Corrupt, Unavailable, Failed)


def leaves() -> Iterator[type[JournalError]]:
    for family in FAMILIES:
        yield from family.__subclasses__()


def test_every_code_is_used_once() -> None:
    codes = [error.code for error in (JournalError, *FAMILIES, *leaves())]

    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("error", list(leaves()), ids=lambda error: error.code)
def test_an_error_is_a_sentence_for_a_person(error: type[JournalError]) -> None:
    sentence = " ".join((error.__doc__ or "").split())

    assert sentence.endswith(".")
    assert sentence[0].isupper()
    assert "!" not in sentence


def test_the_codes_are_these() -> None:
    assert sorted(error.code for error in leaves()) == [
        "ack_missing", "backup_damaged", "chat_busy", "checkpoint_corrupt", "commit_timeout", "conflict_settled", "document_conflict",
        "does_not_fit", "input_conflict", "journal_damaged", "journal_foreign", "journal_newer", "key_reused", "not_allowed",
        "not_recordable", "not_running", "note_missing", "record_corrupt", "request_reused", "result_conflict", "run_ended", "run_held",
        "shown_changed", "stale_version", "step_failed", "step_inside", "store_closed", "store_full", "store_locked", "store_lost",
        "taken_back", "too_large", "turn_failed", "unknown_backup", "unknown_call", "unknown_conflict", "unknown_document", "unknown_run",
        "unsafe_file_system",
    ]  # fmt: skip


def test_an_unavailable_store_says_nothing_about_an_effect() -> None:
    assert all("happened" not in str(error.__doc__) or error is Unavailable for error in Unavailable.__subclasses__())


def test_the_public_list_is_sorted_and_complete() -> None:
    assert list(journal.__all__) == sorted(journal.__all__)
    assert all(hasattr(journal, name) for name in journal.__all__)


def test_facts_are_attributes() -> None:
    refusal = errors.TooLarge("note", size=3, limit=2)

    assert str(refusal).endswith("note: 3 of at most 2.")
    assert str(errors.TooLarge("value", limit=2)).endswith("value: at most 2.")
    assert (refusal.field, refusal.size, refusal.limit, refusal.code) == ("note", 3, 2, "too_large")
