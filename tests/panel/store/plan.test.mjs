import assert from "node:assert/strict";
import test, { beforeEach } from "node:test";
import { host, panel } from "./host.mjs";

const edits = await panel("recovery-plan-edits.js");
const { store } = await panel("recovery-plan.js");

const item = (id, done = false) => ({ id, text: `do ${id}`, done });
const plan = (...items) => ({ title: "Release", items });
const documentOf = (revision, value, by = "agent") => ({ document_id: "d1", chat_id: "c1", kind: "plan", revision, value, written_by: by, at: 1 });
const viewOf = (revision, value, by, waiting = 0) => [200, { document: documentOf(revision, value, by), conflicts: [], waiting, checked_at: 1 }];
const push = (revision, conflicts = 0) => store.takeSnapshot({ contexts: [{ id: "c1", _durable_documents: { plan: { revision, conflicts } } }], tasks: [] });
const settle = () => new Promise((done) => setTimeout(done, 0));
const asked = (name) => host.asked.filter((one) => one.name === name).map((one) => one.body);
const texts = () => store.plan.items.map((one) => one.text);

beforeEach(async () => {
  store.choose("");
  await settle();
  Object.assign(host, { asked: [], focused: [] });
  Object.assign(store, { marks: {}, _kept: {} });
  host.answers = { document_read: viewOf(1, plan(item("a"), item("b"))), document_save: (body) => viewOf(body.expected_revision + 1, body.value, "you") };
});

async function atPlan() {
  store.choose("c1");
  push(1);
  await settle();
}

test("edits are new values and leave the old one alone", () => {
  const before = plan(item("a"), item("b"), item("c"));
  const text = JSON.stringify(before);

  assert.deepEqual(edits.moved(before, "c", -1).items.map((one) => one.id), ["a", "c", "b"]);
  assert.equal(edits.moved(before, "a", -1), before);
  assert.equal(edits.marked(before, "b", true).items[1].done, true);
  assert.equal(edits.written(before, "b", " other ").items[1].text, "other");
  assert.deepEqual(edits.removed(before, "a").items.map((one) => one.id), ["b", "c"]);
  assert.equal(edits.added(before, "new").items.length, 4);
  assert.equal(edits.renamed(before, "Other").title, "Other");
  assert.equal(JSON.stringify(before), text);
});

test("words of progress, and keys for ids that look alike", () => {
  assert.equal(edits.progress(plan()), "nothing in it yet");
  assert.equal(edits.progress(plan(item("a", true), item("b"))), "1 of 2 done");
  assert.equal(edits.progress(plan(item("a", true))), "all 1 done");
  assert.equal(new Set(edits.rows(plan(item("x"), item("x"))).map((row) => row.key)).size, 2);
  assert.match(edits.whyNot("  "), /few words/);
  assert.match(edits.whyNot("x".repeat(2001)), /at most 2000/);
});

test("a chat without a plan asks nothing until a person opens it", async () => {
  store.choose("c1");
  store.takeSnapshot({ contexts: [{ id: "c1" }], tasks: [] });
  await settle();
  assert.deepEqual(host.asked, []);

  await store.toggle();
  assert.deepEqual(asked("document_read"), [{ chat_id: "c1", kind: "plan" }]);
});

test("a push is read once for each revision, and only for the chat that is shown", async () => {
  await atPlan();
  push(1);
  store.takeSnapshot({ contexts: [{ id: "c2", _durable_documents: { plan: { revision: 9, conflicts: 0 } } }, { id: "c1", _durable_documents: { plan: { revision: 1, conflicts: 0 } } }] });
  await settle();
  assert.equal(asked("document_read").length, 1);

  host.answers.document_read = viewOf(2, plan(item("a", true)));
  push(2);
  await settle();
  assert.equal(asked("document_read").length, 2);
  assert.match(store.live, /The agent changed the plan: all 1 done/);
});

test("what a person does is shown at once and sent in order, each from the revision before", async () => {
  await atPlan();
  const sent = [store.check("a", true), store.move("b", -1)];
  assert.deepEqual(texts(), ["do b", "do a"]);
  await Promise.all(sent);

  assert.deepEqual(asked("document_save").map((body) => body.expected_revision), [1, 2]);
  assert.deepEqual(asked("document_save")[1].value.items, [item("b"), item("a", true)]);
  assert.equal(store.stored.revision, 3);
});

test("an answer from before a change was saved is not shown after it", async () => {
  await atPlan();
  let late;
  host.answers.document_read = () => new Promise((done) => (late = () => done(viewOf(1, plan(item("a"), item("b"))))));
  void store.load();
  await settle();
  await store.check("a", true);
  late();
  await settle();

  assert.equal(store.stored.revision, 2);
});

test("what the agent wrote while a change was being saved is read afterwards", async () => {
  await atPlan();
  let saved;
  host.answers.document_save = (body) => new Promise((done) => (saved = () => done(viewOf(2, body.value, "you"))));
  const sent = store.check("a", true);
  await settle();
  host.answers.document_read = viewOf(3, plan(item("z")));
  push(3);
  saved();
  await sent;
  await settle();

  assert.deepEqual(texts(), ["do z"]);
});

test("a change that comes too late shows what is stored and says that both are kept", async () => {
  await atPlan();
  host.answers.document_save = [409, { code: "conflict", text: "", stored: documentOf(2, plan(item("z"))), conflict_id: "k" }];
  host.answers.document_read = viewOf(2, plan(item("z")), "agent", 1);
  await store.check("a", true);
  await settle();

  assert.deepEqual([texts(), store.late, store.conflicts], [["do z"], true, 1]);
});

test("the text that is edited and was changed meanwhile is sent from where the edit began", async () => {
  await atPlan();
  store.edit("a", 0);
  store.text = "mine";
  host.answers.document_read = viewOf(2, plan({ ...item("a"), text: "theirs" }, item("b")));
  push(2);
  await settle();
  host.answers.document_save = [409, { code: "conflict", text: "", stored: documentOf(2, plan(item("a"))), conflict_id: "k" }];
  await store.saveEdit();

  assert.equal(asked("document_save")[0].expected_revision, 1);
  assert.deepEqual(asked("document_save")[0].value.items.map((one) => one.text), ["mine", "do b"]);
});

test("another item that was changed meanwhile stays changed", async () => {
  await atPlan();
  store.edit("a", 0);
  store.text = "mine";
  host.answers.document_read = viewOf(2, plan(item("a"), item("b", true)));
  push(2);
  await settle();
  await store.saveEdit();

  assert.equal(asked("document_save")[0].expected_revision, 2);
  assert.deepEqual(asked("document_save")[0].value.items, [{ ...item("a"), text: "mine" }, item("b", true)]);
});

test("the words for an item that was removed meanwhile are not lost", async () => {
  await atPlan();
  store.edit("a", 0);
  store.text = "half a thought";
  host.answers.document_read = viewOf(2, plan(item("b")));
  push(2);
  await settle();

  assert.deepEqual([store.editing, store.typed], [null, "half a thought"]);
  assert.match(store.problem, /removed meanwhile/);
});

test("without an answer nothing is shown as saved, and what was typed is there", async () => {
  await atPlan();
  host.answers.document_save = [0, null];
  store.typed = "later";
  await store.add();

  assert.deepEqual([texts(), store.typed], [["do a", "do b"], "later"]);
  assert.match(store.problem, /not saved/);
});

test("what was typed for a chat waits there", async () => {
  await atPlan();
  await store.toggle();
  store.typed = "for the first";
  store.choose("c2");
  assert.deepEqual([store.typed, store.opened, store.document], ["", false, null]);
  store.choose("c1");
  assert.deepEqual([store.typed, store.opened], ["for the first", true]);
});

test("a plan that nobody keeps any more is not shown", async () => {
  await atPlan();
  store.takeSnapshot({ contexts: [{ id: "c1" }], tasks: [] });

  assert.equal(store.exists, false);
});
