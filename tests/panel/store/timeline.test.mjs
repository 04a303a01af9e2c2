import assert from "node:assert/strict";
import test from "node:test";
import { panel } from "./host.mjs";

const timeline = await panel("recovery-timeline.js");

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const call = (n, more = {}) => ({ call_id: `c${n}`, n, kind: "tool", name: "shell", status: "saved", marks: ["executed"], at: n * 10 * SECOND, ended_at: n * 10 * SECOND + 4 * SECOND, ...more });
const many = (count, more = {}) => Array.from({ length: count }, (_, at) => call(at + 1, more[at + 1]));
const kinds = (rows) => rows.map((row) => (row.type === "call" ? row.call.n : row.type === "fold" ? `fold ${row.calls[0].n}-${row.calls.at(-1).n}` : row.type));

test("every mark differs from every other in its word, and done from unknown in its shape", () => {
  const codes = ["executed", "reused", "replayed", "reconciled", "confirmed", "held", "unknown", "late", "interrupted", "superseded", "running", "set_aside"];
  const marks = codes.map((code) => timeline.marksOf({ marks: [code] })[0]);

  assert.equal(new Set(marks.map((mark) => mark.word)).size, codes.length);
  const shape = (code) => marks[codes.indexOf(code)].icon;
  for (const open of ["held", "unknown", "late", "interrupted"]) assert.notEqual(shape(open), shape("executed"));
});

test("a mark that this version does not know is never shown as done", () => {
  assert.equal(timeline.leadOf({ marks: ["something_new"] }).word, "Unknown");
  assert.equal(timeline.leadOf({}).word, "Unknown");
});

test("an error of the step itself is no success", () => {
  assert.equal(timeline.leadOf({ marks: ["executed"], status: "error" }).tone, "danger");
});

test("durations are two units at most", () => {
  const said = [400, 4_000, 42_400, 125_000, 3 * 3_600_000 + 5 * MINUTE, 49 * 3_600_000].map(timeline.duration);

  assert.deepEqual(said, ["0.4 s", "4 s", "42 s", "2 min 5 s", "3 h 5 min", "2 days 1 h"]);
});

test("a step says how long it took and what reuse saved", () => {
  const reused = call(1, { text: "Result saved, reused", took_ms: 4_000, saved: { times: 2, ms: 8_000, tokens: 2_400 } });

  assert.equal(timeline.lineOf(reused), "Result saved, reused · took 4 s · reuse saved 8 s and 2,400 tokens");
  assert.equal(timeline.savedText({ times: 0, ms: 0, tokens: 0 }), "");
  assert.equal(timeline.savedText({ times: 1, ms: 3, tokens: 0 }), "");
  assert.equal(timeline.savedText({ times: 1, ms: 3, tokens: 900 }, true), "reuse saved about 900 tokens");
});

test("a short run shows every step", () => {
  assert.deepEqual(kinds(timeline.timelineRows({ calls: many(8) })), [1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a long run folds quiet steps, never failures, late results or what is unknown", () => {
  const odd = { 4: { status: "error" }, 8: { marks: ["executed", "late"] }, 12: { status: "unknown", marks: ["unknown"] } };
  const rows = timeline.timelineRows({ calls: many(20, odd) });

  assert.deepEqual(kinds(rows), ["fold 1-3", 4, "fold 5-7", 8, "fold 9-11", 12, "fold 13-15", 16, 17, 18, 19, 20]);
  assert.equal(timeline.timelineRows({ calls: many(20, odd) }, true).length, 20);
  assert.equal(timeline.foldLabel(rows[0].calls), "Show steps 1 to 3, with saved results");
});

test("the end of a process stands where it was, also between folded steps", () => {
  const end = (after, more) => ({ after, ends: 1, seen_at: 1, ended_at: null, back_at: 2, resumed_at: 3, ...more });
  const rows = timeline.timelineRows({ calls: many(20), breaks: [end(4), end(18)] });

  assert.deepEqual(kinds(rows), ["fold 1-4", "break", "fold 5-15", 16, 17, 18, "break", 19, 20]);
  const clock = (at) => `T${at}`;
  assert.equal(timeline.breakText(end(4), clock), "Last sign of it at T1. Back at T2. The run went on at T3.");
  assert.equal(timeline.breakText(end(4, { ended_at: 9, resumed_at: null }), clock), "It was stopped at T9. Back at T2. The run has not gone on since.");
  assert.equal(timeline.breakTitle(end(4, { ends: 3 })), "Agent Zero ended here, 3 times");
});

test("a long pause is one thin row, and none where a process ended", () => {
  const late = [call(1), call(2, { at: 30 * MINUTE, ended_at: 30 * MINUTE }), call(3, { at: 30 * MINUTE + SECOND })];
  const rows = timeline.timelineRows({ calls: late });

  assert.deepEqual(kinds(rows), [1, "gap", 2, 3]);
  assert.equal(rows[1].text, "29 min 46 s without a step");
  assert.deepEqual(kinds(timeline.timelineRows({ calls: late, breaks: [{ after: 1, ends: 1 }] })), [1, "break", 2, 3]);
});

test("a preview names its steps as the timeline does, and neighbours are one row", () => {
  const option = {
    steps: [
      { n: 1, to: 3, call_id: "c1", what: "reused", text: "Used." },
      { n: 4, to: 4, call_id: "c4", what: "runs", text: "Runs again, once." },
    ],
  };
  const rows = timeline.previewRows(option, many(4), (one) => `${one.name} ${one.n}`);

  assert.deepEqual(rows.map((row) => [row.label, row.name, row.text]), [
    ["Steps 1 to 3", "", "Used."],
    ["Step 4", "Shell 4", "Runs again, once."],
  ]);
  assert.notEqual(rows[0].icon, rows[1].icon);
  assert.deepEqual(timeline.previewRows(null, [], String), []);
});
