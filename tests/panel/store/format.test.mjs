import assert from "node:assert/strict";
import test from "node:test";
import { panel } from "./host.mjs";

const format = await panel("recovery-format.js");

const detail = (more = {}) => ({
  run: { run_id: "r", state: "held", version: 3 },
  calls: [
    { call_id: "a", n: 1, kind: "tool", name: "code_execution_tool", status: "saved" },
    { call_id: "b", n: 2, kind: "tool", name: "code_execution_tool", status: "unknown" },
  ],
  decisions: [
    { id: "stop", call_id: null, allowed: true },
    { id: "resume", call_id: null, allowed: false, reason: "Step 2 is still unknown." },
    { id: "new_attempt", call_id: "b", allowed: true, needs_ack: true },
    { id: "confirmed_completed", call_id: "b", allowed: true, needs_note: true, preview: "From the server." },
  ],
  grants: [],
  recorded: [],
  ...more,
});

test("the choices of one call come first, then those of the run, in a fixed order", () => {
  assert.deepEqual(format.optionsFor(detail(), "b").map((option) => option.id), ["confirmed_completed", "new_attempt", "resume", "stop"]);
});

test("the choices of another call are not shown", () => {
  assert.deepEqual(format.optionsFor(detail(), "other").map((option) => option.id), ["resume", "stop"]);
});

test("a choice that is not on offer says why, in the server's words", () => {
  const resume = format.optionsFor(detail(), "b").find((option) => option.id === "resume");

  assert.equal(resume.allowed, false);
  assert.equal(resume.text, "Not available: step 2 is still unknown.");
});

test("the server's preview is shown before our own sentence", () => {
  const [first, second] = format.optionsFor(detail(), "b");

  assert.equal(first.text, "From the server.");
  assert.equal(second.text, "It may then have happened twice.");
});

test("more attempts are offered as the first choice of their call", () => {
  const shown = detail({ decisions: detail().decisions.slice(0, 2), grants: [{ call_id: "b", allowed: true, reason: "", most: 3 }] });

  assert.deepEqual(format.optionsFor(shown, "b").map((option) => option.id), ["grant", "resume", "stop"]);
  assert.deepEqual(format.undecided(shown).map((call) => call.n), [2]);
});

test("states to go on from come first, with the server's words, and say what they are about", () => {
  const restore = [
    { id: "now", title: "Keep the chat as it is now", preview: "The run ends here.", allowed: true, digest: "d", needs_ack: false },
    { id: "7", title: "Go back", preview: "", allowed: false, reason: "It cannot be read.", digest: "e", needs_ack: true },
  ];

  const [keep, back, ...rest] = format.optionsFor(detail({ restore }), "other");

  assert.deepEqual([keep.id, keep.state, keep.label, keep.text], ["restore:now", "now", "Keep the chat as it is now", "The run ends here."]);
  assert.deepEqual([back.id, back.label, back.text], ["restore:7", "Go back", "Not available: it cannot be read."]);
  assert.deepEqual(rest.map((option) => option.id), ["resume", "stop"]);
  assert.equal(format.recordLabel({ decision: "restore:now" }), "Keep the chat, end the run");
  assert.equal(format.recordLabel({ decision: "restore:7" }), "Go on from this state");
  assert.equal(format.choiceOf("restore").said, "the state to go on from was chosen");
});

test("files that changed under the running server are named", () => {
  const changed = { plugin: ["api/status.py"], host: [], journal: ["journal.db"] };

  assert.deepEqual(format.notes({ changed }), ["Changed while Agent Zero runs: api/status.py, journal.db."]);
  assert.deepEqual(format.notes({ changed: { plugin: [], host: [], journal: [] } }), []);
});

test("the form asks for what is missing, and for nothing else", () => {
  const draft = { decision: "x", note: "  ", ack: false };

  assert.ok(format.missing(draft, null).decision);
  assert.ok(format.missing(draft, { needs_note: true }).note);
  assert.ok(format.missing(draft, { needs_ack: true }).ack);
  assert.deepEqual(format.missing(draft, {}), {});
  assert.deepEqual(format.missing({ ...draft, note: "seen", ack: true }, { needs_note: true, needs_ack: true }), {});
});

test("a state that this version does not know is never shown as done", () => {
  assert.equal(format.stateOf({ state: "something_new" }).word, "State not known");
});

test("a command in a shell may outlive a restart, a model call does not", () => {
  assert.equal(format.mayStillRun({ kind: "tool", name: "code_execution_tool" }), true);
  assert.equal(format.mayStillRun({ kind: "tool", name: "search_engine" }), false);
  assert.equal(format.mayStillRun({ kind: "model", name: "" }), false);
});

test("arguments are plain lines, or JSON where they are nested", () => {
  assert.equal(format.argumentsText({ arguments_masked: { runtime: "terminal", code: "ls" } }), "runtime: terminal\ncode: ls");
  assert.equal(format.argumentsText({ arguments_masked: "as it is" }), "as it is");
  assert.equal(format.argumentsText({ arguments_masked: { a: { b: 1 } } }), '{\n  "a": {\n    "b": 1\n  }\n}');
  assert.equal(format.argumentsText({ arguments_masked: null }), "");
});

test("the stale banner says what changed", () => {
  const decided = detail({ recorded: [{ seq: 7, id: "confirmed_completed", at: 1 }] });
  const proved = detail();
  proved.calls[1] = { ...proved.calls[1], status: "saved", text: "Result saved" };
  const gone = detail();
  gone.run = { ...gone.run, state: "stopped" };

  assert.match(format.whatChanged(detail(), decided), /decided elsewhere: it happened\.$/);
  assert.match(format.whatChanged(detail(), proved), /step 2: result saved\.$/);
  assert.match(format.whatChanged(detail(), gone), /it is now stopped\.$/);
  assert.equal(format.whatChanged(detail(), null), "This run changed while you were reading.");
});

test("what went wrong ends with what is safe", () => {
  const lost = format.problemOf({ status: 0, body: null }, { deciding: true });
  const fault = format.problemOf({ status: 500, body: { code: "internal", ref: "abcd1234" } }, { deciding: true });
  const reading = format.problemOf({ status: 503, body: { code: "store_locked", text: "Locked." } });

  assert.match(lost.safe, /Your note is kept here/);
  assert.match(fault.text, /not known/);
  assert.equal(fault.detail, "Reference abcd1234");
  assert.deepEqual(reading, { text: "The journal could not be read.", safe: "No run was changed.", detail: "Locked." });
});

test("no answer is ever described as if the decision had not happened", () => {
  for (const reply of [{ status: 0 }, { status: 500, body: { code: "internal" } }, { status: 503, body: { code: "commit_timeout" } }]) {
    assert.doesNotMatch(format.problemOf(reply, { deciding: true }).text, /not recorded/);
  }
});

test("held chats and held background tasks are both found in a push", () => {
  const mark = (run_id) => ({ state: "held", run_id, text: "why" });
  const snapshot = {
    contexts: [{ id: "c1", _durable_execution: mark("r1") }, { id: "c2" }, { id: "c3", _durable_execution: null }],
    tasks: [{ id: "t1", _durable_execution: mark("r2") }],
  };

  assert.deepEqual(Object.keys(format.holdsIn(snapshot)), ["c1", "t1"]);
  assert.deepEqual(format.holdsIn(null), {});
});

test("ages are whole units, and a clock that is behind is no age below zero", () => {
  const words = (at) => `on ${at}`;
  const now = 100 * 24 * 3_600_000;

  assert.equal(format.age(now + 5_000, now, words), "just now");
  assert.equal(format.age(now - 5 * 60_000, now, words), "5 min ago");
  assert.equal(format.age(now - 26 * 3_600_000, now, words), `on ${now - 26 * 3_600_000}`);
});

test("one run needs, two runs need", () => {
  assert.equal(format.needs(1), "1 run needs you");
  assert.equal(format.needs(2), "2 runs need you");
});

test("the reason that the plugin is off is said once", () => {
  const status = { why_not: { code: "adapter_mismatch", text: "Durable Execution did not start: a host function differs." } };

  assert.equal(format.offTitle(status), "Durable Execution did not start.");
  assert.equal(format.offText(status), "A host function differs.");
});

test("what a run took is one line, and says where it is an estimate", () => {
  const usage = { calls: 2, background_calls: 1, input_tokens: 12000, output_tokens: 400, cost: null };

  assert.equal(format.usageText(detail()), "");
  assert.equal(format.usageText(detail({ usage: { ...usage, estimated: true } })), "3 model calls, about 12,400 tokens.");
  assert.equal(format.usageText(detail({ usage: { ...usage, estimated: false, cost: 0.0125 } })), "3 model calls, 12,400 tokens, cost 0.0125.");
});

test("what was asked beside the steps is a line each", () => {
  const background = [{ purpose: "memorize_fragments", text: "Cut off by a restart and dropped." }];

  assert.deepEqual(format.backgroundLines(detail({ background })), ["memorize fragments: Cut off by a restart and dropped."]);
  assert.deepEqual(format.backgroundLines(detail()), []);
});

test("a warning in the chat names its run and step, and only ours do", () => {
  assert.deepEqual(format.heldStep(format.holdMark("run_01abc", "call_01def")), { runId: "run_01abc", callId: "call_01def" });
  assert.deepEqual(format.heldStep("message-durable-hold-run_1-call_2"), { runId: "run_1", callId: "call_2" });
  assert.deepEqual(format.heldStep("durable-hold-run_1-chat_gone"), { runId: "run_1", callId: "" });
  assert.equal(format.heldStep("message-17"), null);
});

test("what switching it on changes is said in three sentences", () => {
  assert.equal(format.ENABLING.length, 3);
  for (const sentence of format.ENABLING) assert.match(sentence, /^[A-Z][^.!]*\.$/);
});
