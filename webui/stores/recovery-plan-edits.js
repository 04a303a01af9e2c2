/** Changes of a plan and words about it, as pure functions: a value goes in, another comes out. */

export const MOST_ITEMS = 100;
export const MOST_TEXT = 2000;
export const MOST_TITLE = 200;

export const EMPTY = { title: "", items: [] };

export const itemOf = (plan, id) => plan.items.find((item) => item.id === id);

const withItems = (plan, items) => ({ ...plan, items });

export function renamed(plan, title) {
  return { ...plan, title: title.trim() };
}

export function added(plan, text, id = newId(plan)) {
  return withItems(plan, [...plan.items, { id, text: text.trim(), done: false }]);
}

export function written(plan, id, text) {
  return withItems(plan, plan.items.map((item) => (item.id === id ? { ...item, text: text.trim() } : item)));
}

export function marked(plan, id, done) {
  return withItems(plan, plan.items.map((item) => (item.id === id ? { ...item, done } : item)));
}

export function removed(plan, id) {
  return withItems(plan, plan.items.filter((item) => item.id !== id));
}

/** One place up (-1) or down (1); at the end it stays where it is. */
export function moved(plan, id, by) {
  const at = plan.items.findIndex((item) => item.id === id);
  const to = at + by;
  if (at < 0 || to < 0 || to >= plan.items.length) return plan;
  const items = [...plan.items];
  [items[at], items[to]] = [items[to], items[at]];
  return withItems(plan, items);
}

function newId(plan) {
  for (;;) {
    const bytes = crypto.getRandomValues(new Uint8Array(4));
    const id = "you-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (!itemOf(plan, id)) return id;
  }
}

// ---- words ---------------------------------------------------------------------------

export function progress(plan) {
  const done = plan.items.filter((item) => item.done).length;
  if (!plan.items.length) return "nothing in it yet";
  return done === plan.items.length ? `all ${done} done` : `${done} of ${plan.items.length} done`;
}

export function nameOf(plan) {
  return plan.title || "Plan";
}

export function writer(by) {
  return { you: "you", agent: "the agent" }[by] ?? "nobody";
}

/** What was typed cannot be saved as it is; empty if it can. */
export function whyNot(text, most = MOST_TEXT) {
  if (!text.trim()) return "Write a few words first.";
  return text.trim().length > most ? `This has ${text.trim().length} characters; at most ${most} are allowed.` : "";
}

/** The same plan with keys of their own for drawing: two ids may look alike once a secret in them is hidden. */
export function rows(plan) {
  const seen = new Map();
  return plan.items.map((item, index) => {
    const times = seen.get(item.id) ?? 0;
    seen.set(item.id, times + 1);
    return { ...item, index, key: times ? `${item.id} ${times}` : item.id };
  });
}
