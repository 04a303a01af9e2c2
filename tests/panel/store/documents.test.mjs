import assert from "node:assert/strict";
import test, { beforeEach } from "node:test";
import { host, panel } from "./host.mjs";

const words = await panel("recovery-document-words.js");
const { store } = await panel("recovery-documents.js");

const plan = (...texts) => ({ title: "Release", items: texts.map((text) => ({ id: text, text, done: false })) });
const part = (id, differs = true) => ({ id, mine: { id, text: id, done: true }, stored: null, mine_did: [{ word: "added", symbol: "+" }], stored_did: [], differs });
const conflict = (id = "k1", by = "you") => ({ conflict_id: id, base: 1, found: 2, written_by: by, stored_by: "agent", at: 1, value: plan("m"), differs: 1, parts: [part("m"), part("s", false)], merged: plan("s", "m") });
const view = (revision, ...conflicts) => ({ document: { document_id: "d1", chat_id: "c1", chat_title: "Site", chat_exists: true, kind: "plan", revision, value: plan("s"), written_by: "agent", at: 1 }, conflicts, waiting: conflicts.length, checked_at: 1 });
const settle = () => new Promise((done) => setTimeout(done, 0));
const asked = (name) => host.asked.filter((one) => one.name === name).map((one) => one.body);

beforeEach(() => {
  store.close();
  Object.assign(host, { asked: [], focused: [], toasts: [] });
  host.answers = {
    documents_list: [200, { counts: { documents: 1, in_conflict: 1, conflicts: 1 }, items: [{ document_id: "d1" }], checked_at: 1, next: null }],
    document_read: [200, view(2, conflict())],
    document_resolve: [200, view(3)],
  };
});

async function atConflict() {
  store.open();
  await settle();
  await store.select("d1");
}

test("it opens with the list, or with the document of the door that was used", async () => {
  store.open();
  await settle();
  assert.deepEqual(host.asked.map((one) => one.name), ["documents_list"]);

  store.close();
  host.asked = [];
  store.wanted = "d1";
  store.open();
  await settle();
  assert.deepEqual([host.asked.map((one) => one.name), store.view], [["document_read"], "document"]);
});

test("a refresh while a document is being read does not lose it", async () => {
  store.wanted = "d1";
  store.open();
  await store.refresh();
  await settle();

  assert.equal(store.shown?.document.document_id, "d1");
  assert.equal(asked("document_read").length, 1);
});

test("each way names the revision that was shown", async () => {
  for (const [press, body] of [
    [() => store.keepStored(), { choice: "keep_stored" }],
    [() => store.useMine(), { choice: "use_mine" }],
    [() => (store.edit(), store.saveMerge()), { choice: "merged", value: plan("s", "m") }],
  ]) {
    await atConflict();
    host.asked = [];
    await press();
    assert.deepEqual(asked("document_resolve"), [{ conflict_id: "k1", expected_revision: 2, ...body }]);
    assert.deepEqual([store.conflict, store.live], [null, "Saved. Nothing was run."]);
    store.close();
  }
});

test("a second click while the first is on its way sends nothing", async () => {
  await atConflict();
  await Promise.all([store.keepStored(), store.useMine()]);

  assert.equal(asked("document_resolve").length, 1);
});

test("what changed meanwhile is shown only when the person wants it, and what was typed stays", async () => {
  await atConflict();
  store.edit();
  store.draft.title = "Mine";
  host.answers.document_resolve = [409, { code: "conflict", text: "", stored: {} }];
  host.answers.document_read = [200, view(3, conflict())];
  await store.saveMerge();

  assert.equal(store.shown.document.revision, 2);
  assert.match(store.alert, /it is revision 3 now/);
  await store.saveMerge();
  assert.equal(asked("document_resolve").length, 1);
  store.showLatest();
  assert.deepEqual([store.shown.document.revision, store.draft.title, store.stale], [3, "Mine", null]);
});

test("a conflict that was resolved elsewhere is said so", async () => {
  await atConflict();
  host.answers.document_read = [200, view(2)];
  await store.refresh();

  assert.match(store.alert, /resolved while you were reading/);
});

test("an item without words is not sent and gets the focus", async () => {
  await atConflict();
  store.edit();
  store.setDraft("m", "text", " ");
  await store.saveMerge();

  assert.deepEqual([asked("document_resolve"), host.focused.at(-1)], [[], "rxd-merge-text-1"]);
});

test("what cannot be read says so, and can be tried again", async () => {
  host.answers.document_read = [503, { code: "store_locked", text: "Locked." }];
  await atConflict();
  assert.equal(store.phase, "error");

  host.answers.document_read = [200, view(2, conflict())];
  store.again();
  await settle();
  assert.equal(store.phase, "ready");
});

test("three facts, and whose the versions are", () => {
  const mine = words.facts(view(6), conflict("k1", "you"));
  assert.equal(mine.length, 3);
  assert.match(mine[0], /^You saved a version that began with revision 1/);
  assert.match(mine[1], /Stored is revision 6, last changed by the agent/);
  assert.match(mine[2], /Nothing was lost/);
  assert.deepEqual([words.mineWord(conflict("k", "agent")), words.useWord(conflict("k", "agent"))], ["The agent's", "Use the agent's"]);
  assert.equal(words.partsShown(conflict(), false).length, 1);
  assert.equal(words.partsShown(conflict(), true).length, 2);
  assert.equal(words.lead({ documents: 2, in_conflict: 0, conflicts: 0 }), "2 documents. No conflict waits for you.");
});

test("words for a page that is being taken down", () => {
  assert.deepEqual([words.facts(null, null), words.differsLine(null), words.lastLine(null), words.chatOf(null)], [[], "", "", ""]);
});
