/**
 * How a run went and what would happen next, as rows to draw: marks, folds, gaps, ends of processes, previews.
 * Pure functions of what the API answered; nothing here touches the page or the network.
 */

const MARKS = {
  executed: { icon: "check", word: "Executed", tone: "ok" },
  reused: { icon: "history", word: "Reused", tone: "ok" },
  replayed: { icon: "replay", word: "Ran again", tone: "ok" },
  reconciled: { icon: "fact_check", word: "Reconciled", tone: "ok" },
  confirmed: { icon: "how_to_reg", word: "Confirmed", tone: "ok" },
  held: { icon: "front_hand", word: "Held", tone: "hold" },
  unknown: { icon: "question_mark", word: "Unknown", tone: "hold" },
  late: { icon: "running_with_errors", word: "Late result", tone: "hold" },
  interrupted: { icon: "question_mark", word: "Interrupted", tone: "hold" },
  superseded: { icon: "alt_route", word: "Replaced", tone: "plain" },
  running: { icon: "more_horiz", word: "Running", tone: "run" },
  set_aside: { icon: "inventory_2", word: "Set aside", tone: "plain" },
};

/** What became of a call, each as a shape and a word; an error of the step itself is no success. */
export function marksOf(call) {
  return (call?.marks ?? []).map((code) => {
    if (code === "executed" && call.status === "error") return { icon: "close", word: "Step error", tone: "danger", code };
    return { ...(MARKS[code] ?? MARKS.unknown), code };
  });
}

/** The mark that stands at the head of a row: what is open asks first. */
export function leadOf(call) {
  return marksOf(call)[0] ?? MARKS.unknown;
}

// ---- time and cost -------------------------------------------------------------------------

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A duration as a person says it: two units at most. */
export function duration(ms) {
  if (!Number.isFinite(ms) || ms < 0) return "";
  if (ms < 10 * SECOND) return `${Math.round(ms / 100) / 10} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return pair(ms, MINUTE, "min", SECOND, "s");
  return ms < 48 * HOUR ? pair(ms, HOUR, "h", MINUTE, "min") : pair(ms, 24 * HOUR, "days", HOUR, "h");
}

function pair(ms, large, one, small, two) {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${one}${rest ? ` ${rest} ${two}` : ""}`;
}

function cost({ ms, tokens }, about) {
  const parts = [ms >= 50 ? duration(ms) : "", tokens ? `${about}${tokens.toLocaleString("en-GB")} tokens` : ""].filter(Boolean);
  return parts.join(" and ");
}

/** What reuse saved, for one step or for a run; empty where nothing was used again. */
export function savedText(saved, estimated = false) {
  if (!saved?.times) return "";
  const what = cost(saved, estimated ? "about " : "");
  return what ? `reuse saved ${what}` : "";
}

/** The line below a step's name: what is known, how long it took, what reuse saved. */
export function lineOf(call) {
  const took = Number.isFinite(call?.took_ms) && call.took_ms >= 50 ? `took ${duration(call.took_ms)}` : "";
  return [call?.abandoned ? "Kept as a record, no part of the run any more" : call?.text, took, savedText(call?.saved)].filter(Boolean).join(" · ");
}

// ---- rows ----------------------------------------------------------------------------------

const LONG = 8;
const TAIL = 5;
const FEW = 3;
const IDLE = 2 * MINUTE;
const QUIET = new Set(["executed", "reused"]);

/** Steps that a long run folds: their results are saved and nothing is special about them. Failures never fold. */
function isQuiet(call) {
  const marks = call.marks ?? [];
  return (call.status === "saved" || call.status === "reused") && marks.length > 0 && marks.every((mark) => QUIET.has(mark));
}

/**
 * The rows of a timeline. Neighbouring quiet steps of a long run are one row that opens; long pauses are one thin row;
 * the ends of processes stand where they were, also between folded steps.
 */
export function timelineRows(detail, all = false) {
  const calls = detail?.calls ?? [];
  const breaks = new Map((detail?.breaks ?? []).map((each) => [each.after, each]));
  const rows = breaks.has(0) ? [breakRow(breaks.get(0))] : [];
  const folds = !all && calls.length > LONG;
  let folded = [];
  const flush = () => {
    if (folded.length >= FEW) rows.push({ key: `fold-${folded[0].call_id}`, type: "fold", calls: folded });
    else rows.push(...folded.map(callRow));
    folded = [];
  };
  calls.forEach((call, at) => {
    if (folds && at < calls.length - TAIL && isQuiet(call)) folded.push(call);
    else {
      flush();
      rows.push(callRow(call));
    }
    const pause = breaks.has(at + 1) ? null : gapAfter(call, calls[at + 1]);
    if (breaks.has(at + 1) || (pause && !folded.length)) flush();
    if (breaks.has(at + 1)) rows.push(breakRow(breaks.get(at + 1)));
    else if (pause && !folded.length) rows.push(pause);
  });
  flush();
  return rows;
}

const callRow = (call) => ({ key: call.call_id, type: "call", call });

const breakRow = (end) => ({ key: `break-${end.after}`, type: "break", end });

function gapAfter(call, next) {
  const idle = next ? next.at - (call.ended_at ?? call.at) : 0;
  return idle >= IDLE ? { key: `gap-${call.call_id}`, type: "gap", text: `${duration(idle)} without a step` } : null;
}

/** "Agent Zero ended here", and what is known of the end and of the way on. `clock` words a moment. */
export function breakText(end, clock) {
  const ended = end.ended_at ? `It was stopped at ${clock(end.ended_at)}.` : `Last sign of it at ${clock(end.seen_at)}.`;
  const back = end.back_at ? ` Back at ${clock(end.back_at)}.` : "";
  const resumed = end.resumed_at ? ` The run went on at ${clock(end.resumed_at)}.` : " The run has not gone on since.";
  return ended + back + resumed;
}

export function breakTitle(end) {
  return end.ends > 1 ? `Agent Zero ended here, ${end.ends} times` : "Agent Zero ended here";
}

export function foldLabel(calls) {
  const [first, last] = [calls[0].n, calls.at(-1).n];
  return `Show steps ${first} to ${last}, with saved results`;
}

// ---- what will happen ----------------------------------------------------------------------

const FATES = {
  reused: { icon: "history", tone: "ok" },
  counted: { icon: "how_to_reg", tone: "ok" },
  runs: { icon: "play_arrow", tone: "hold" },
  repeated: { icon: "replay", tone: "run" },
  checked: { icon: "search", tone: "run" },
  reported: { icon: "campaign", tone: "hold" },
  asked: { icon: "front_hand", tone: "hold" },
  set_aside: { icon: "inventory_2", tone: "hold" },
  kept: { icon: "inventory_2", tone: "plain" },
  ended: { icon: "block", tone: "plain" },
};

/** The preview of a choice, call by call, with the names that the timeline uses. `nameOf` words a call. */
export function previewRows(option, calls, nameOf) {
  const known = new Map((calls ?? []).map((call) => [call.call_id, call]));
  return (option?.steps ?? []).map((step) => ({
    key: `${step.n}-${step.what}`,
    ...(FATES[step.what] ?? FATES.asked),
    label: step.to > step.n ? `Steps ${step.n} to ${step.to}` : `Step ${step.n}`,
    name: step.to > step.n ? "" : upper(nameOf(known.get(step.call_id))),
    text: step.text,
  }));
}

const upper = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
