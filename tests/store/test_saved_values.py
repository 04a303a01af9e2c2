"""Whatever a message, an argument or a result is: it is saved, served as it was, and no effect repeats because of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal import values
from journal.records import Outcome, RunState, Serve
from journal.values import Opaque
from tests.store.worlds import World, model, tool
from tests.support.examples import examples
from tests.support.values import ANY_TEXT, RECIPES, BrokenDict, Recipe, build, is_same

pytestmark = pytest.mark.properties


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("values") / "journal")
    yield world
    world.close()


def fresh_chat(world: World) -> str:
    return f"chat {next(world.requests)}"


@examples(8, cut_down=False)
@given(RECIPES, RECIPES, RECIPES)
def test_a_value_is_saved_and_served_and_nothing_runs_twice(world: World, said: Recipe, argument: Recipe, result: Recipe) -> None:
    chat, effects = fresh_chat(world), 0
    content, given_in, came_out = {"text": build(said)}, {"value": build(argument)}, build(result)
    run = world.admit(chat, "m", content)
    for step in (model(1), tool(1)):
        call = world.opened(run, step, arguments=given_in)
        effects += 1
        world.journal.finish_call(call.call_id, Outcome.OK, came_out).result()

    world.restart()
    assert world.admit(chat, "m", {"text": build(said)}).run_id == run.run_id
    assert world.recover(run).state is RunState.QUEUED
    claim = world.claim(run)
    for step in (model(1), tool(1)):
        found = world.begin(claim, step, arguments={"value": build(argument)})
        if not isinstance(found, Serve):
            effects += 1
            continue
        assert is_same(found.call.value, values.plain(came_out))  # these very values: a set made anew may have another order
        assert is_same(found.call.arguments, values.plain(given_in))
        assert found.call.attempts == 1
    assert effects == 2
    assert is_same(claim.run.input, values.plain(content))
    json.dumps(world.journal.run_view(run.run_id), allow_nan=False)

    world.journal.close_run(run.run_id, claim.token, RunState.COMPLETED, came_out, world.point(history=(content["text"],)), []).result()
    ended = world.journal.run(run.run_id)
    assert is_same(ended.answer, values.plain(came_out))
    tree = world.journal.resume_point(run.run_id).tree
    (kept,) = tree.list(tree.value(world.journal.resume_point(run.run_id).root)["history"])
    assert is_same(tree.value(kept), values.plain(build(said)))


EXTRAS = st.none() | st.just(("odd", "broken dict")) | RECIPES.map(lambda recipe: ("dict", [(("is", "carry"), recipe)]))


@examples(20, cut_down=False)
@given(RECIPES, st.sampled_from(Outcome), ANY_TEXT, EXTRAS, EXTRAS)
def test_finishing_a_call_never_raises_and_keeps_something_true(
    world: World, value: Recipe, outcome: Outcome, error: str, usage: Recipe | None, extra: Recipe | None
) -> None:
    run = world.admit(fresh_chat(world))
    call = world.opened(run, tool(1))

    more = {name: build(recipe) for name, recipe in (("usage", usage), ("extra", extra)) if recipe}
    first = world.journal.finish_call(call.call_id, outcome, build(value), error=error, **more).result()
    again = world.journal.finish_call(call.call_id, outcome, build(value), error=error, **more).result()

    assert again == first or not is_same(first.value, first.value)
    (found,) = world.journal.calls(run.run_id)
    assert found.outcome is outcome
    assert (found.value is None) is (build(value) is None)
    assert isinstance(found.extra, dict)


@examples(15, cut_down=False)
@given(st.lists(RECIPES | st.just(("is", "")), min_size=1, max_size=3))
def test_an_answer_that_is_empty_or_equal_to_the_last_one_is_an_answer(world: World, answers: list[Recipe]) -> None:
    chat = fresh_chat(world)
    for turn, recipe in enumerate([*answers, answers[-1]]):
        run = world.admit(chat, f"m{turn}")
        world.done(run, model(1), build(recipe))
        world.journal.close_run(run.run_id, run.token, RunState.COMPLETED, build(recipe), world.point(), []).result()

    runs = world.journal.runs_of(chat)
    assert [run.state for run in runs] == [RunState.COMPLETED] * len(runs)
    assert all(is_same(run.answer, values.plain(build(recipe))) for run, recipe in zip(runs, [*answers, answers[-1]], strict=True))
    assert all(len(world.journal.calls(run.run_id)) == 1 for run in runs)


@examples(15, cut_down=False)
@given(RECIPES)
def test_a_message_in_between_is_kept_as_it_was(world: World, recipe: Recipe) -> None:
    run = world.admit(fresh_chat(world))

    world.journal.keep_input(run.run_id, "other", {"text": build(recipe)}).result()
    world.journal.keep_input(run.run_id, "other", {"text": build(recipe)}).result()

    (kept,) = world.journal.waiting(run.chat_id)
    assert is_same(kept.content, values.plain({"text": build(recipe)}))


def test_a_value_that_our_own_code_cannot_save_is_described_and_the_effect_is_not_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.admit(fresh_chat(world))
    call = world.opened(run, tool(1))

    def fails(value: Any, *, names: bool = True) -> Any:
        raise RecursionError

    with monkeypatch.context() as patch:
        patch.setattr(world.masker, "mask", fails)
        world.journal.finish_call(call.call_id, Outcome.OK, "it worked", extra={"a": 1}, usage={"b": 2}).result()

    (found,) = world.journal.calls(run.run_id)
    assert found.value == Opaque("str", "'it worked' (RecursionError while saving it)")
    assert found.value_lossy


def test_arguments_that_cannot_be_encoded_are_refused_before_the_effect(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.admit(fresh_chat(world))

    def fails(value: Any, *, names: bool = True) -> Any:
        raise RecursionError

    with monkeypatch.context() as patch:
        patch.setattr(world.masker, "mask", fails)
        with pytest.raises(RecursionError):
            world.opened(run, tool(1))

    assert world.journal.calls(run.run_id) == []


def test_a_dict_that_cannot_be_read_never_makes_its_call_unreadable(world: World) -> None:
    run = world.admit(fresh_chat(world))
    call = world.opened(run, tool(1))

    world.journal.finish_call(call.call_id, Outcome.OK, "x", extra=BrokenDict(a=1), usage=BrokenDict(a=1)).result()

    assert world.journal.calls(run.run_id)[0].value == "x"
    with pytest.raises(TypeError):
        world.opened(run, tool(2), extra=BrokenDict(a=1))
    with pytest.raises(TypeError):
        world.admit(fresh_chat(world), content=BrokenDict(a=1))
    assert len(world.journal.calls(run.run_id)) == 1


def test_fifty_megabytes_are_saved_and_served(tmp_path: Path) -> None:
    world = World(tmp_path / "journal")
    text = "é\0x" * 16_000_000 + "\ud800"
    run = world.admit(fresh_chat(world))
    world.done(run, tool(1), text)

    world.restart()
    world.recover(run)

    assert world.begin(world.claim(run), tool(1)).call.value == text
    world.close()
