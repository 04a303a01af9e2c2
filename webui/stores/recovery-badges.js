/**
 * Marks held chats and tasks in the sidebar. The host has no extension point for a row of
 * its lists, so one small element is added to the row and taken away again.
 */
import { store } from "/plugins/durable_execution/webui/stores/recovery-store.js";

const ROWS = ".chats-config-list .chat-container, .tasks-config-list .task-container";
const LABEL = "On hold, needs your decision";

let watching = false;

/** Follow the host's lists from now on; they are redrawn after the push that changed them. */
export function badgeHeldChats() {
  const Alpine = globalThis.Alpine;
  if (watching || !Alpine?.store("chats")) return;
  watching = true;
  Alpine.effect(() => {
    void [Alpine.store("chats").contexts, Alpine.store("tasks")?.tasks, store.holds];
    Alpine.nextTick(mark);
  });
}

function mark() {
  const held = store.holds;
  const shown = document.querySelector(".durable-badge") !== null;
  if (!shown && !Object.keys(held).length) return;
  for (const row of document.querySelectorAll(ROWS)) {
    const scope = globalThis.Alpine.$data(row);
    const chat = scope.task ?? (row.classList.contains("chat-child-container") ? scope.child : scope.context);
    const badge = row.querySelector(".durable-badge");
    const isHeld = Boolean(held[chat?.id]);
    if (isHeld && !badge) row.querySelector(".chat-name, .task-name")?.after(newBadge());
    if (!isHeld) badge?.remove();
  }
}

function newBadge() {
  const badge = document.createElement("span");
  badge.className = "material-symbols-outlined durable-door durable-badge";
  badge.textContent = "front_hand";
  badge.title = LABEL;
  badge.setAttribute("role", "img");
  badge.setAttribute("aria-label", LABEL);
  return badge;
}
