/**
 * Words of the Recovery panel: states, steps, decisions, ages, problems.
 * Pure functions of what the API answered; nothing here touches the page or the network.
 */

const STATES = {
  held: { icon: "front_hand", word: "On hold", tone: "hold" },
  queued: { icon: "schedule", word: "Waiting to go on", tone: "run" },
  running: { icon: "play_circle", word: "Running", tone: "run" },
  completed: { icon: "check_circle", word: "Finished", tone: "ok" },
  failed: { icon: "error", word: "Ended with an error", tone: "danger" },
  stopped: { icon: "stop_circle", word: "Stopped", tone: "plain" },
};

export function stateOf(run) {
  return STATES[run?.state] ?? { icon: "help", word: "State not known", tone: "plain" };
}

const TOOLS = {
  code_execution_tool: "shell or code",
  input: "keyboard input to a shell",
  browser: "browser",
  browser_agent: "browser",
  response: "final answer",
  call_subordinate: "subordinate agent",
  parallel: "parallel steps",
  wait: "wait",
};

/** What a person calls this step; the tool's own name is kept when we have no better one. */
export function stepName(call) {
  if (!call) return "";
  if (call.kind === "model") return "model call";
  if (call.kind === "utility") return "background model call";
  if (call.kind === "delivery") return "delivery of an answer";
  return TOOLS[call.name] ?? String(call.name || "step").replaceAll("_", " ");
}

const RUNS_IN_A_SHELL = /shell|terminal|code_execution|^input$|command|process/i;

/** A command in a shell is a process of its own: it outlives a restart of the server. */
export function mayStillRun(call) {
  return call?.kind === "tool" && RUNS_IN_A_SHELL.test(call.name || "");
}

/** What a step was about, in one line; a model call has nothing to add to its name. */
export function summaryOf(call) {
  const isModel = call?.kind === "model" || call?.kind === "utility";
  return isModel || call?.summary === call?.name ? "" : call?.summary ?? "";
}

const CHOICES = {
  grant: {
    label: "Allow more attempts",
    consequence: "The model is asked again. A provider may charge for it again.",
    record: "Allow more attempts",
    said: "more attempts were allowed",
  },
  confirmed_completed: {
    label: "It happened",
    consequence: "The step counts as done. It will not run.",
    record: "Record: it happened",
    said: "it happened",
  },
  confirmed_not_completed: {
    label: "It did not happen",
    consequence: "The step may run again.",
    record: "Record: it did not happen",
    said: "it did not happen",
  },
  new_attempt: {
    label: "Start the step over",
    consequence: "It may then have happened twice.",
    record: "Start the step over",
    said: "start the step over",
  },
  resume: {
    label: "Resume",
    consequence: "The run goes on from the last saved step.",
    record: "Resume the run",
    said: "resume",
  },
  stop: {
    label: "Stop the run",
    consequence: "Nothing more will run. Records stay.",
    record: "Stop the run",
    said: "stop the run",
  },
};

/** What stands in the record of a choice, and in the button, for the states that a run may go on from. */
const STATES_CHOSEN = {
  restore: { label: "", consequence: "", record: "Go on from this state", said: "the state to go on from was chosen" },
  "restore:now": { label: "", consequence: "", record: "Keep the chat, end the run", said: "the chat was kept as it is" },
};

export function choiceOf(id) {
  if (String(id).startsWith("restore")) return STATES_CHOSEN[id] ?? STATES_CHOSEN.restore;
  return CHOICES[id] ?? { label: id, consequence: "", record: "Record", said: String(id) };
}

const ORDER = Object.keys(CHOICES);

/**
 * The rows of the form: the states to go on from, where a run is held for its chat, the choices
 * for one call, then those for the run. Whether one is allowed, and why not, is the server's word.
 */
export function optionsFor(detail, callId) {
  const offered = (detail?.decisions ?? []).filter((d) => d.call_id == null || d.call_id === callId);
  const grants = (detail?.grants ?? [])
    .filter((g) => g.call_id === callId)
    .map((g) => ({ ...g, id: "grant", digest: "", needs_note: false, needs_ack: false, preview: "" }));
  const states = (detail?.restore ?? []).map((s) => ({ ...s, id: `restore:${s.id}`, state: s.id, call_id: null }));
  const rows = [...states, ...grants, ...offered].map((option) => {
    const words = choiceOf(option.id);
    const text = option.allowed ? option.preview || words.consequence : `Not available: ${lower(option.reason)}`;
    return { ...option, label: words.label || option.title, text };
  });
  return rows.sort((a, b) => ORDER.indexOf(a.id) - ORDER.indexOf(b.id));
}

function lower(text) {
  const sentence = String(text || "the server does not offer it.");
  return sentence[0].toLowerCase() + sentence.slice(1);
}

/** Calls that need an answer of a person, in the order of the run. */
export function undecided(detail) {
  const asked = new Set();
  for (const option of [...(detail?.decisions ?? []), ...(detail?.grants ?? [])]) {
    if (option.call_id != null) asked.add(option.call_id);
  }
  return (detail?.calls ?? []).filter((call) => asked.has(call.call_id));
}

export function recordLabel(draft) {
  if (!draft?.decision) return "Record decision";
  if (draft.decision !== "grant") return choiceOf(draft.decision).record;
  return draft.attempts === 1 ? "Allow 1 more attempt" : `Allow ${draft.attempts} more attempts`;
}

/** What is still missing in the form, by field; empty when it may be sent. */
export function missing(draft, option) {
  if (!option) return { decision: "Choose what is true. Nothing is chosen for you." };
  const found = {};
  if (option.needs_note && !draft.note.trim()) {
    found.note = "Write how you know. This is kept with the run.";
  }
  if (option.needs_ack && !draft.ack) {
    found.ack = "Tick the box to go on, or choose something else.";
  }
  return found;
}

/** Why a run waits, in the server's words. */
export function reasonText(item) {
  return item?.reason?.text || "This run waits for your decision.";
}

/** "Step 4 · shell or code" */
export function stepLine(item) {
  const step = item?.step;
  if (!step) return "";
  const place = step.of > step.n ? `Step ${step.n} of ${step.of}` : `Step ${step.n}`;
  return `${place} · ${stepName(step)}`;
}

export function headline(counts, tab) {
  const waiting = counts?.needs_you ?? 0;
  if (!waiting) return tab === "all" ? "Nothing is waiting for you." : "";
  return `${needs(waiting)}. Finished steps are saved and will not run again.`;
}

export function needs(n) {
  return n === 1 ? "1 run needs you" : `${n} runs need you`;
}

export function plural(n, one, many) {
  return `${n} ${n === 1 ? one : many}`;
}

/** What a run took; empty while nothing is known. */
export function usageText(detail) {
  const used = detail?.usage;
  const calls = (used?.calls ?? 0) + (used?.background_calls ?? 0);
  if (!calls) return "";
  const about = used.estimated ? "about " : "";
  const tokens = used.input_tokens + used.output_tokens;
  const parts = [plural(calls, "model call", "model calls"), `${about}${tokens.toLocaleString("en")} tokens`];
  if (Number.isFinite(used.cost)) parts.push(`cost ${used.cost.toFixed(4)}`);
  return `${parts.join(", ")}.`;
}

/** What was asked beside the steps, one line each. */
export function backgroundLines(detail) {
  return (detail?.background ?? []).map((call) => `${String(call.purpose).replaceAll("_", " ")}: ${call.text}`);
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** How long ago, in whole units a person would say. `words` formats a date in the user's zone. */
export function age(at, now, words) {
  const past = Math.max(0, now - at);
  if (past < MINUTE) return "just now";
  if (past < 60 * MINUTE) return `${Math.floor(past / MINUTE)} min ago`;
  if (past < DAY) return `${Math.floor(past / (60 * MINUTE))} h ago`;
  return words(at);
}

export function iso(at) {
  return Number.isFinite(at) ? new Date(at).toISOString() : "";
}

/** The names that the records use, for whoever looks for them in a log. */
export function idsOf(call) {
  return [call?.name, call?.call_id].filter(Boolean).join(" · ");
}

/** Arguments as a person reads them: plain text as it is, anything else as indented JSON. */
export function argumentsText(call) {
  const shown = call?.arguments_masked;
  if (shown == null) return "";
  if (typeof shown === "string") return shown;
  const values = Object.entries(shown);
  const plain = values.every(([, value]) => value === null || typeof value !== "object");
  if (!plain) return JSON.stringify(shown, null, 2);
  return values.map(([name, value]) => `${name}: ${value}`).join("\n");
}

/** One sentence for the stale banner: what is different now. */
export function whatChanged(before, after) {
  if (!after) return "This run changed while you were reading.";
  const old = new Map((before?.calls ?? []).map((call) => [call.call_id, call]));
  const known = new Set((before?.recorded ?? []).map((entry) => entry.seq));
  const said = (after.recorded ?? []).find((entry) => !known.has(entry.seq));
  const changed = (after.calls ?? []).find((call) => old.get(call.call_id)?.status !== call.status);
  let what = "";
  if (said) what = `it was decided elsewhere: ${choiceOf(said.id).said}`;
  else if (changed) what = `step ${changed.n}: ${lower(changed.text || "its record changed")}`;
  else if (before?.run?.state !== after.run?.state) what = `it is now ${lower(stateOf(after.run).word)}`;
  return what ? `This run changed while you were reading: ${what}.` : "This run changed while you were reading.";
}

const AGAIN = "Your note is kept here. Sending it again is safe: it counts once.";

/** What the page says when an answer did not come or was no answer. */
export function problemOf(reply, { deciding = false } = {}) {
  const code = reply.body?.code ?? "";
  const detail = code === "internal" ? `Reference ${reply.body.ref}` : reply.body?.text ?? "";
  if (reply.status === 0) {
    return { text: "Agent Zero is not reachable.", safe: deciding ? AGAIN : "No run was changed by this.", detail: "" };
  }
  if (code === "unknown_run") return { text: "This run is not in the journal any more.", safe: "", detail: "" };
  if (!deciding) return { text: "The journal could not be read.", safe: "No run was changed.", detail };
  if (code === "commit_timeout" || code === "internal") {
    return { text: "It is not known yet whether the decision was recorded.", safe: AGAIN, detail };
  }
  return { text: "The decision was not recorded.", safe: "Your note is kept here.", detail };
}

/** The id of the warning with which a chat says that a step waits, and back from it. */
export function holdMark(runId, callId) {
  return `durable-hold-${runId}-${callId}`;
}

export function heldStep(mark) {
  const found = /^(?:message-)?durable-hold-(run_[0-9a-z]+)-(call_[0-9a-z]+)?/.exec(String(mark ?? ""));
  return found ? { runId: found[1], callId: found[2] ?? "" } : null;
}

/** Which chats wait for a person, from Agent Zero's own push; background tasks are chats, too. */
export function holdsIn(snapshot) {
  const holds = {};
  for (const chat of [...(snapshot?.contexts ?? []), ...(snapshot?.tasks ?? [])]) {
    const mark = chat?._durable_execution;
    if (chat?.id && mark?.state === "held") {
      holds[chat.id] = { run_id: String(mark.run_id ?? ""), text: String(mark.text ?? "") };
    }
  }
  return holds;
}

/** What a person should know about the plugin itself while it is active. */
export function notes(status) {
  const found = [];
  if (status?.store_problem) found.push(`The journal cannot be written right now: ${status.store_problem}`);
  if (status?.masking_problem) found.push(`New secrets may be written down as they are: ${status.masking_problem}`);
  const changed = Object.values(status?.changed ?? {}).flat();
  if (changed.length) found.push(`Changed while Agent Zero runs: ${changed.join(", ")}.`);
  const late = status?.protected_from_next_message?.length ?? 0;
  if (late === 1) found.push("1 running chat is protected from its next message.");
  if (late > 1) found.push(`${late} running chats are protected from their next message.`);
  return found;
}

/** Why the panel cannot decide anything now. */
export function offTitle(status) {
  return status?.why_not?.code === "off" ? "Durable Execution is off." : "Durable Execution did not start.";
}

/** What changes when a person switches it on, in three sentences. */
export const ENABLING = [
  "From then on, each step of a chat is written down before it starts, and its result before anything builds on it.",
  "After a crash or a restart an unfinished chat goes on by itself from its last saved step, and what is uncertain waits for you.",
  "Each step takes some milliseconds longer, the journal stays in a private folder of Agent Zero, and switching it off takes everything back.",
];

const OFF = {
  off: "Work is not recorded, and nothing is continued after a restart. Switch it on under Plugins.",
  host_changed: "These Agent Zero files changed since the last review. Update the plugin, or restore the files and switch it on again.",
  restart_needed: "Agent Zero must restart before new work is recorded.",
};

export function offText(status) {
  const { code, text } = status?.why_not ?? {};
  const said = String(text ?? "").replace(/^Durable Execution did not start[:.]?\s*/, "");
  return OFF[code] ?? said.slice(0, 1).toUpperCase() + said.slice(1);
}
