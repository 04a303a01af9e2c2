import assert from "node:assert/strict";
import test, { beforeEach } from "node:test";
import { host, panel } from "./host.mjs";

const { store } = await panel("recovery-store.js");

const root = { closest: () => null };
const ACTIVE = { active: true, why_not: null, restart_needed: false };

const run = (version = 12, state = "held") => ({ run_id: "r1", chat_id: "c1", version, state, title: "Deploy", since: 1, reason: { code: "outcome_unknown", text: "A step was started." } });
const decision = (id, call_id = "k4", more = {}) => ({ id, call_id, digest: `d-${id}`, allowed: true, reason: "", needs_note: id.startsWith("confirmed"), needs_ack: id === "new_attempt", preview: "", ...more });
const view = (version = 12, more = {}) => ({
  run: run(version),
  calls: [{ call_id: "k4", n: 4, kind: "tool", name: "code_execution_tool", status: "unknown" }],
  decisions: [decision("confirmed_completed"), decision("new_attempt"), decision("resume", null, { allowed: false, reason: "No." }), decision("stop", null)],
  grants: [],
  recorded: [],
  checked_at: 5,
  ...more,
});
const settled = (version = 13) => view(version, { run: run(version, "queued"), decisions: [], recorded: [{ seq: 1, id: "confirmed_completed", at: 2 }] });
const listOf = (...items) => ({ counts: { needs_you: items.length, all: items.length }, items, checked_at: 5, next: null });

const settle = () => new Promise((done) => setTimeout(done, 0));
const asked = (name) => host.asked.filter((one) => one.name === name);

async function opened() {
  store.open(root);
  await settle();
}

async function atRun() {
  await opened();
  await store.select("r1");
}

beforeEach(() => {
  store.close();
  Object.assign(host, { asked: [], toasts: [], focused: [], visible: true });
  store._drafts = {};
  store.holds = {};
  host.answers = {
    status: [200, ACTIVE],
    recovery_list: [200, listOf(run())],
    recovery_run: [200, view()],
    recovery_decide: [200, settled()],
    recovery_grant: [200, settled()],
  };
});

test.after(() => store.close());

test("while the plugin is off nothing but the status is asked", async () => {
  host.answers.status = [200, { active: false, why_not: { code: "off" } }];
  await opened();

  assert.deepEqual(host.asked.map((one) => one.name), ["status"]);
  assert.equal(store.list, null);
});

test("closing the panel leaves no timer and drops an answer that comes late", async () => {
  let arrive;
  host.answers.recovery_list = () => new Promise((done) => (arrive = () => done([200, listOf(run())])));
  await opened();
  store.close();
  arrive();
  await settle();

  assert.equal(store.list, null);
  assert.equal(store.phase, "idle");
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length, 0);
});

test("the answer of an earlier question never replaces that of a later one", async () => {
  await opened();
  const arrive = [];
  host.answers.recovery_run = (body) => new Promise((done) => arrive.push(() => done([200, view(12, { run: { ...run(), run_id: body.run_id } })])));
  void store.select("first");
  void store.select("second");
  await settle();
  arrive[1]();
  await settle();
  arrive[0]();
  await settle();

  assert.equal(store.detail.run.run_id, "second");
});

test("a decision that needs a note is not sent without one, and the note gets the focus", async () => {
  await atRun();
  store.choose(store.options[0]);
  await store.submit();

  assert.equal(asked("recovery_decide").length, 0);
  assert.ok(store.missing.note);
  assert.equal(host.focused.at(-1), "rx-note");
});

test("starting over needs the box, which is never ticked beforehand", async () => {
  await atRun();
  store.choose(store.options[1]);
  assert.equal(store.draft.ack, false);
  await store.submit();
  assert.ok(store.missing.ack);

  store.draft.ack = true;
  await store.submit();
  assert.equal(asked("recovery_decide")[0].body.ack, true);
});

test("changing the choice takes the tick away again", async () => {
  await atRun();
  store.choose(store.options[1]);
  store.draft.ack = true;
  store.choose(store.options[3]);
  store.choose(store.options[1]);

  assert.equal(store.draft.ack, false);
});

test("a choice that is not on offer cannot be taken", async () => {
  await atRun();
  let prevented = false;
  store.choose(store.options[2], { preventDefault: () => (prevented = true) });

  assert.equal(store.draft.decision, "");
  assert.equal(prevented, true);
});

test("what is sent names run, version, call and the digest of what was shown", async () => {
  await atRun();
  store.choose(store.options[0]);
  store.draft.note = "  Seen on the web page.  ";
  await store.submit();
  const { request_id, ...body } = asked("recovery_decide")[0].body;

  assert.match(request_id, /^req_[0-9a-f]{32}$/);
  assert.deepEqual(body, {
    run_id: "r1", version: 12, call_id: "k4", shown_digest: "d-confirmed_completed", decision: "confirmed_completed",
    note: "Seen on the web page.", ack: false, result_text: null,
  });
});

test("after a decision the list is shown, the draft is gone and the outcome is said", async () => {
  await atRun();
  store.choose(store.options[0]);
  store.draft.note = "Seen.";
  host.answers.recovery_list = [200, listOf({ ...run(), run_id: "next" })];
  await store.submit();

  assert.equal(store.view, "list");
  assert.deepEqual(store._drafts, {});
  assert.equal(store.live, "Recorded. The run continues.");
  assert.deepEqual(host.toasts, ["Recorded. The run continues."]);
  assert.equal(host.focused.at(-1), "rx-card-next");
});

test("who opens another run while the list is read again keeps the focus there", async () => {
  await atRun();
  store.choose(store.options[3]);
  host.answers.recovery_list = async () => {
    void store.select("r2");
    return [200, listOf({ ...run(), run_id: "next" })];
  };
  host.answers.recovery_run = [200, view(7, { run: { ...run(7), run_id: "r2" } })];
  await store.submit();
  await settle();

  assert.equal(store.runId, "r2");
  assert.ok(!host.focused.includes("rx-card-next"));
});

test("a run with another unknown step stays open after the first decision", async () => {
  await atRun();
  store.choose(store.options[3]);
  host.answers.recovery_decide = [200, view(13)];
  host.answers.recovery_run = [200, view(13)];
  await store.submit();

  assert.equal(store.view, "detail");
  assert.equal(store.detail.run.version, 13);
  assert.equal(store.draft.decision, "");
});

test("a second click while the first is on its way sends nothing", async () => {
  await atRun();
  store.choose(store.options[3]);
  let arrive;
  host.answers.recovery_decide = () => new Promise((done) => (arrive = () => done([200, settled()])));
  const first = store.submit();
  await store.submit();
  arrive();
  await first;

  assert.equal(asked("recovery_decide").length, 1);
});

test("sending the same again after a lost answer keeps the id, another choice gets a new one", async () => {
  await atRun();
  store.choose(store.options[3]);
  host.answers.recovery_decide = [0, null];
  await store.submit();
  await store.submit();
  store.draft.note = "More.";
  await store.submit();
  const ids = asked("recovery_decide").map((one) => one.body.request_id);

  assert.equal(ids[0], ids[1]);
  assert.notEqual(ids[1], ids[2]);
  assert.match(store.formProblem.text, /not reachable/);
});

test("a stale form keeps the note, clears the choice and waits for a person", async () => {
  await atRun();
  store.choose(store.options[0]);
  store.draft.note = "My note.";
  host.answers.recovery_decide = [409, { code: "stale_version", text: "Stale.", run: run(13) }];
  host.answers.recovery_run = [200, view(13)];
  await store.submit();

  assert.equal(store.phase, "stale");
  assert.equal(store.detail.run.version, 12);
  await store.submit();
  assert.equal(asked("recovery_decide").length, 1);

  await store.showLatest();
  assert.equal(store.detail.run.version, 13);
  assert.equal(store.draft.note, "My note.");
  assert.equal(store.draft.decision, "");
});

test("a newer version under an open form raises the banner and does not repaint the form", async () => {
  await atRun();
  store.draft.note = "Half a sent";
  host.answers.recovery_run = [200, settled()];
  await store.refresh();

  assert.equal(store.phase, "stale");
  assert.equal(store.detail.run.version, 12);
  assert.equal(store.draft.note, "Half a sent");
  assert.match(store.alert, /decided elsewhere/);
});

test("a run that asks nothing is simply shown anew", async () => {
  host.answers.recovery_run = [200, settled(13)];
  await atRun();
  host.answers.recovery_run = [200, settled(14)];
  await store.refresh();

  assert.equal(store.phase, "ready");
  assert.equal(store.detail.run.version, 14);
});

test("what was typed is there again after Back, and after the panel was closed", async () => {
  await atRun();
  store.choose(store.options[0]);
  store.draft.note = "Kept.";
  store.back();
  await store.select("r1");
  assert.equal(store.draft.note, "Kept.");
  assert.equal(store.draft.decision, "confirmed_completed");

  store.close();
  await atRun();
  assert.equal(store.draft.note, "Kept.");
});

test("a refusal is shown at its field", async () => {
  await atRun();
  store.choose(store.options[3]);
  host.answers.recovery_decide = [422, { code: "note_missing", field: "note", text: "Write how you know." }];
  await store.submit();

  assert.deepEqual(store.missing, { note: "Write how you know." });
  assert.equal(host.focused.at(-1), "rx-note");
  assert.equal(store.phase, "ready");
});

test("more attempts go to their own call, with the number that was chosen", async () => {
  host.answers.recovery_run = [200, view(12, { decisions: [decision("stop", null)], grants: [{ call_id: "k4", allowed: true, reason: "", most: 3 }] })];
  await atRun();
  store.choose(store.options[0]);
  store.draft.attempts = 2;
  await store.submit();
  const { request_id, ...body } = asked("recovery_grant")[0].body;

  assert.deepEqual(body, { run_id: "r1", version: 12, call_id: "k4", attempts: 2 });
});

test("an unreadable list keeps what was known, and says so", async () => {
  await opened();
  host.answers.recovery_list = [503, { code: "store_locked", text: "Locked." }];
  await store.refresh();

  assert.equal(store.list.items.length, 1);
  assert.equal(store.problem.detail, "Locked.");
  host.answers.recovery_list = [200, listOf(run())];
  await store.refresh();
  assert.equal(store.problem, null);
});

test("an answer that is no JSON is a failure, not an empty list", async () => {
  host.answers.recovery_list = [200, "<html>"];
  await opened();

  assert.equal(store.phase, "error");
  assert.equal(store.list, null);
});

test("a push with the same holds changes nothing, another one looks again", async () => {
  const push = (run_id) => ({ contexts: [{ id: "c1", _durable_execution: { state: "held", run_id, text: "why" } }], tasks: [] });
  await opened();
  store.takeSnapshot(push("r1"));
  await settle();
  const before = host.asked.length;
  store.takeSnapshot(push("r1"));
  await settle();
  assert.equal(host.asked.length, before);
  assert.equal(store.waiting, 1);

  store.takeSnapshot({ contexts: [], tasks: [] });
  await settle();
  assert.ok(host.asked.length > before);
  assert.equal(store.waiting, 0);
});

test("with the panel closed a push asks the server nothing", async () => {
  store.takeSnapshot({ contexts: [{ id: "c1", _durable_execution: { state: "held", run_id: "r1" } }] });
  await settle();

  assert.deepEqual(host.asked, []);
});

test("a change of the number of holds is announced, an unchanged one is not", async () => {
  await opened();
  assert.equal(store.live, "1 run needs you.");
  store.live = "";
  await store.refresh();
  assert.equal(store.live, "");
  host.answers.recovery_list = [200, listOf()];
  await store.refresh();
  assert.equal(store.live, "Nothing is waiting.");
});

test("arrow keys move between the tabs and wrap", async () => {
  await opened();
  const press = (key) => store.moveTab({ key, preventDefault() {} });
  press("ArrowRight");
  assert.equal(store.tab, "all");
  press("ArrowRight");
  assert.equal(store.tab, "documents");
  press("ArrowRight");
  assert.equal(store.tab, "needs_you");
  press("End");
  assert.equal(store.tab, "documents");
});

test("from the chat a step is opened: it is unfolded, and asked about", async () => {
  const calls = ["k3", "k4"].map((call_id, at) => ({ call_id, n: at + 3, kind: "tool", name: "shell", status: "unknown", marks: ["held"] }));
  host.answers.recovery_run = [200, view(12, { calls, decisions: [decision("confirmed_completed", "k3"), decision("confirmed_completed", "k4"), decision("stop", null)] })];
  store.show(null, "r1", "k4");
  store.open(root);
  await settle();
  await settle();

  assert.equal(store.unfolded.k4, true);
  assert.equal(store.draft.call_id, "k4");
  assert.ok(host.focused.includes("rx-row-k4"));
});

test("a refresh keeps the pages that were opened", async () => {
  const page = (from) => ({ ...listOf(...[0, 1].map((at) => ({ ...run(), run_id: `r${from + at}` }))), next: from < 4 ? String(from + 2) : null });
  host.answers.recovery_list = (body) => [200, page(Number(body.cursor ?? 0))];
  await opened();
  await store.more();
  assert.equal(store.list.items.length, 4);

  await store.refresh();

  assert.deepEqual(store.list.items.map((item) => item.run_id), ["r0", "r1", "r2", "r3"]);
  assert.equal(store.list.next, "4");
});

test("a search is sent with every page, and leaves with its tab", async () => {
  await opened();
  await store.showTab("all");
  store.search(" deploy ", 0);
  await settle();
  assert.equal(asked("recovery_list").at(-1).body.query, "deploy");
  assert.equal(store.live, "1 run found.");

  await store.showTab("needs_you");
  assert.equal(asked("recovery_list").at(-1).body.query, "");
  await store.showTab("all");
  assert.equal(store.query, "");
});

test("typing asks once, when it pauses, and not at all once the panel is closed", async () => {
  await opened();
  await store.showTab("all");
  const before = asked("recovery_list").length;
  for (const words of ["d", "de", "dep"]) store.search(words);
  assert.equal(asked("recovery_list").length, before);
  store.close();
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length, 0);
});

// ---- attempts for several runs ----

const cutOff = (run_id, version = 3) => ({
  ...run(version), run_id, title: run_id, reason: { code: "model_interrupted", text: "Cut off." }, step: { call_id: `c-${run_id}`, n: 1, of: 1, kind: "model", name: "" },
});

async function grouped(...ids) {
  host.answers.recovery_list = [200, listOf(...ids.map((id) => cutOff(id)))];
  await opened();
  store.openGroup();
}

test("several cut-off model calls are allowed one by one, each with its own version and id", async () => {
  await grouped("a", "b", "c");
  store.group.chosen = ["a", "c"];
  store.group.attempts = 2;
  assert.equal(store.groupLabel, "Allow 2 more attempts for 2 runs");
  await store.grantChosen();
  const sent = asked("recovery_grant").map((one) => one.body);

  assert.deepEqual(sent.map(({ request_id, ...body }) => body), [
    { run_id: "a", version: 3, call_id: "c-a", attempts: 2 },
    { run_id: "c", version: 3, call_id: "c-c", attempts: 2 },
  ]);
  assert.notEqual(sent[0].request_id, sent[1].request_id);
  assert.match(store.group.outcomes.a.text, /^Recorded/);
  assert.equal(store.group.outcomes.b, undefined);
  assert.equal(store.live, "2 runs continue, 0 not recorded.");
});

test("one that changed meanwhile is told apart and stops no other", async () => {
  await grouped("a", "b");
  store.group.chosen = ["a", "b"];
  host.answers.recovery_grant = (body) => (body.run_id === "a" ? [409, { code: "stale_version", text: "Stale.", run: null }] : [200, settled()]);
  await store.grantChosen();

  assert.match(store.group.outcomes.a.text, /changed since it was shown. Nothing was recorded/);
  assert.match(store.group.outcomes.b.text, /^Recorded/);
});

test("after a lost answer the same request is sent again, and what is recorded is not", async () => {
  await grouped("a", "b");
  store.group.chosen = ["a", "b"];
  host.answers.recovery_grant = (body) => (body.run_id === "a" ? [0, null] : [200, settled()]);
  await store.grantChosen();
  host.answers.recovery_grant = [200, settled()];
  await store.grantChosen();
  const sent = asked("recovery_grant").map((one) => one.body);

  assert.deepEqual(sent.map((body) => body.run_id), ["a", "b", "a"]);
  assert.equal(sent[0].request_id, sent[2].request_id);
});

test("nothing is chosen beforehand, and without a choice nothing is sent", async () => {
  await grouped("a", "b");
  await store.grantChosen();

  assert.deepEqual(asked("recovery_grant"), []);
  assert.match(store.alert, /Choose at least one run/);
});

test("a refresh under the form does not change what it will send", async () => {
  await grouped("a", "b");
  store.group.chosen = ["a"];
  host.answers.recovery_list = [200, listOf(cutOff("a", 9))];
  await store.refresh();
  await store.grantChosen();

  assert.equal(asked("recovery_grant")[0].body.version, 3);
});

test("a push that comes while the panel opens does not lose the run that was asked for", async () => {
  store.show(null, "r1");
  store.open(root);
  store.takeSnapshot({ contexts: [{ id: "c1", _durable_execution: { state: "held", run_id: "r1" } }] });
  await settle();
  await settle();

  assert.equal(store.view, "detail");
  assert.equal(store.detail.run.run_id, "r1");
});
