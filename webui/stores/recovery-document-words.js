/** Words about documents and conflicts. Pure functions of what the API answered. */
import { writer } from "/plugins/durable_execution/webui/stores/recovery-plan-edits.js";

export { writer };

const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;

export function titleOf(item) {
  return item?.title || item?.value?.title || "Plan without a title";
}

export function chatOf(item) {
  if (!item) return "";
  const name = item.chat_title || "Chat without a name";
  return item.chat_exists ? name : `${name} (the chat is gone)`;
}

export function lastLine(item) {
  if (!item) return "";
  return `Revision ${item.revision}, last changed by ${writer(item.written_by)}`;
}

export function conflictsWord(n) {
  return plural(n, "conflict", "conflicts");
}

export function lead(counts) {
  if (!counts?.documents) return "";
  if (!counts.conflicts) return `${plural(counts.documents, "document", "documents")}. No conflict waits for you.`;
  return `${conflictsWord(counts.conflicts)} ${counts.conflicts === 1 ? "waits" : "wait"} for you. Both versions of each are kept.`;
}

/** Whose the version is that came too late, as the head of its column. */
export function mineWord(conflict) {
  return conflict?.written_by === "agent" ? "The agent's" : "Yours";
}

export function useWord(conflict) {
  return conflict?.written_by === "agent" ? "Use the agent's" : "Use mine";
}

/** Three facts: what came too late, what is stored, that nothing is lost. */
export function facts(shown, conflict) {
  if (!shown || !conflict) return [];
  const who = conflict.written_by === "agent" ? "The agent" : "You";
  const from = conflict.base ? `revision ${conflict.base}` : "an empty plan";
  return [
    `${who} saved a version that began with ${from}.`,
    `Stored is revision ${shown.document.revision}, last changed by ${writer(shown.document.written_by)}.`,
    "Nothing was lost: both versions are kept until you choose.",
  ];
}

export function differsLine(conflict) {
  if (!conflict) return "";
  const same = conflict.parts.length - conflict.differs;
  const differs = conflict.differs ? `${plural(conflict.differs, "part differs", "parts differ")}` : "Nothing differs";
  return same ? `${differs}, ${same} the same on both sides.` : `${differs}.`;
}

export function partsShown(conflict, all) {
  return (conflict?.parts ?? []).filter((part) => all || part.differs);
}

/** One side of a part in words, for a reader that does not see the columns. */
export function sideText(part, side) {
  return part[side] ? part[side].text || "(no title)" : "not there";
}

export function doneWord(part, side) {
  if (!part.id || !part[side]) return "";
  return part[side].done ? "done" : "open";
}

export function consequence(choice, shown, conflict) {
  if (!shown || !conflict) return "";
  const revision = shown.document.revision;
  const other = conflict.written_by === "agent" ? "the agent's version" : "your version";
  return {
    keep: `Nothing changes: the plan stays at revision ${revision}, and ${other} is dropped.`,
    use: `The plan becomes ${other}, as revision ${revision + 1}.`,
    edit: "Begin with the changes of both, and change what is not right.",
  }[choice];
}

export function staleText(view, conflict) {
  if (!view) return "";
  const open = view.conflicts.some((one) => one.conflict_id === conflict?.conflict_id);
  if (!open) return "This conflict was resolved while you were reading. Nothing was changed by you.";
  return `The plan changed while you were reading: it is revision ${view.document.revision} now. Nothing was changed by you.`;
}
