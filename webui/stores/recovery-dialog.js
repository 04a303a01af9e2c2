/**
 * What the host's modal lacks: a role, a name, focus that stays inside and goes back.
 * It sets attributes on the modal that it is given and takes nothing else over.
 */

const FOCUSABLE = [
  "a[href]",
  "button:not([disabled])",
  "input:not([disabled])",
  "textarea:not([disabled])",
  "select:not([disabled])",
  '[tabindex]:not([tabindex="-1"])',
].join(",");

let modal = null;
let opener = null;

/** Remember who opened the panel; called before the host builds the modal. */
export function openedBy(element) {
  opener = element ?? document.activeElement;
}

export function enter(root) {
  opener ??= document.activeElement;
  modal = root.closest(".modal-inner");
  if (!modal) return;
  const title = modal.querySelector(".modal-title");
  if (title) title.id = "rx-modal-title";
  modal.setAttribute("role", "dialog");
  modal.setAttribute("aria-modal", "true");
  modal.setAttribute("aria-labelledby", "rx-modal-title");
  modal.querySelector(".modal-close")?.setAttribute("aria-label", "Close");
  modal.addEventListener("keydown", keepInside);
}

export function leave() {
  modal?.removeEventListener("keydown", keepInside);
  modal = null;
  const before = opener;
  opener = null;
  // A menu entry is hidden by now; its menu button, or the message box, takes the focus instead.
  for (const place of [before, "#header-more", "#toggle-sidebar", "#chat-input"]) {
    const element = typeof place === "string" ? document.querySelector(place) : place;
    if (element?.isConnected && isVisible(element) && element !== document.body) {
      element.focus({ preventScroll: true });
      return;
    }
  }
}

const MOST_FRAMES = 120;
const FEW_FRAMES = 4;

/**
 * Focus the first of these ids. Where it is not drawn yet another one stands in for it, and gives the focus on when it
 * is, unless the person has moved on meanwhile.
 */
export function focusOn(...ids) {
  const look = (frames, standIn) => {
    const first = document.getElementById(ids[0]);
    const at = document.activeElement;
    const moved = standIn && at && at !== document.body && at !== standIn;
    if (moved) return;
    if (first && isVisible(first)) return focusNow(ids);
    if (!standIn) focusNow(ids.slice(1));
    if (modal && frames > 0) globalThis.requestAnimationFrame?.(() => look(frames - 1, standIn ?? document.activeElement));
  };
  globalThis.requestAnimationFrame?.(() => look(MOST_FRAMES, null));
}

/** The same, but only if what had the focus was taken away; it must never fall out of the dialog. */
export function keepFocus(...ids) {
  // The page's framework hides an element some frames after the state that hides it.
  const look = (frames) => {
    const at = document.activeElement;
    if (!at || at === document.body) focusNow(ids);
    else if (frames > 0) globalThis.requestAnimationFrame?.(() => look(frames - 1));
  };
  globalThis.requestAnimationFrame?.(() => look(FEW_FRAMES));
}

function focusNow(ids) {
  for (const id of ids) {
    const element = document.getElementById(id);
    if (!element || !isVisible(element)) continue;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
    return;
  }
}

/** Scroll something into view without moving the focus to it. */
export function reveal(id) {
  globalThis.requestAnimationFrame?.(() => document.getElementById(id)?.scrollIntoView({ block: "nearest" }));
}

const LOOK_MS = 100;
const MOST_LOOKS = 150;
const LOOKS_AFTER = 5;

/**
 * Bring a message of the chat into view and give it the focus: when the panel is gone and has given the focus back, and
 * the host has drawn the chat. A chat that is drawn once more takes the focus with the old element; a person who has
 * moved on keeps it.
 */
export function revealInChat(mark) {
  let standIn = null;
  const look = (looks) => {
    const at = document.activeElement;
    if (!modal) {
      standIn ??= at;
      if (at && at !== document.body && at !== standIn) return;
      const element =
        document.getElementById(`message-${mark}`) ?? document.querySelector(`[data-step-id="${CSS.escape(mark)}"]`);
      if (element && isVisible(element) && at !== element) {
        element.tabIndex = -1;
        element.focus({ preventScroll: true });
        element.scrollIntoView({ block: "center" });
        standIn = element;
        looks = Math.min(looks, LOOKS_AFTER);
      }
    }
    if (looks > 0) setTimeout(() => look(looks - 1), LOOK_MS);
  };
  setTimeout(() => look(MOST_LOOKS), LOOK_MS);
}

function keepInside(event) {
  if (event.key !== "Tab") return;
  const stops = [...modal.querySelectorAll(FOCUSABLE)].filter(
    (element) => isVisible(element) && !element.closest("[inert]"),
  );
  if (!stops.length) return;
  const first = stops[0];
  const last = stops[stops.length - 1];
  if (event.shiftKey && document.activeElement === first) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && document.activeElement === last) {
    event.preventDefault();
    first.focus();
  }
}

function isVisible(element) {
  return element.getClientRects().length > 0;
}
