/** The page's own state: which chat is shown, what the server last said, and the messages drawn from it. */
import { store as notifications } from "/components/notifications/notification-store.js";
import { createStore } from "/js/AlpineStore.js";
import { callJsonApi } from "/js/api.js";
import { callJsExtensions } from "/js/extensions.js";
import { getUserTimezone } from "/js/time-utils.js";

const POLL_MS = 400;
const STEPS = { agent: "Thinking", tool: "Tool", code_exe: "Command", progress: "Waiting", subagent: "Agent", warning: "Warning", info: "Info" };

createStore("sidebar", {
  isOpen: true,
  menuOpen: false,
  toggle() {
    this.isOpen = !this.isOpen;
  },
  menuToggle() {
    this.menuOpen = !this.menuOpen;
  },
  menuClose() {
    this.menuOpen = false;
  },
});

const tasks = createStore("tasks", {
  tasks: [],
  selected: "",
  selectTask(id) {
    void chats.selectChat(id);
  },
});

const chats = createStore("chats", {
  contexts: [],
  selected: new URLSearchParams(location.search).get("ctxid") ?? "",
  selectedContext: null,
  async selectChat(id) {
    this.selected = id;
    look.again();
  },
  async newChat() {
    this.selectChat((await callJsonApi("/chat_create", { current_context: this.selected })).ctxid);
  },
  async killChat(id) {
    await callJsonApi("/chat_remove", { context: id });
    if (this.selected === id) this.selectChat("");
  },
  displayName: (context) => context.name || `Chat #${context.no}`,
});

const page = createStore("page", {
  connected: true,
  paused: false,
  progress: "",
  text: "",
  items: [],
  banners: [],
  step: (type) => STEPS[type] ?? type,
  async send() {
    const text = this.text.trim();
    if (!text) return;
    if (!chats.selected) await chats.newChat();
    this.text = "";
    const message_id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    await callJsonApi("/message_async", { text, context: chats.selected, message_id });
    look.again();
  },
  nudge: () => callJsonApi("/nudge", { ctxid: chats.selected }),
  reset: () => callJsonApi("/chat_reset", { context: chats.selected }),
  pause: () => callJsonApi("/pause", { context: chats.selected, paused: !page.paused }),
  async loadBanners() {
    this.banners = (await callJsonApi("/banners", { banners: [], context: {} })).banners;
  },
  light(on = !document.body.classList.contains("light-mode")) {
    document.body.classList.toggle("light-mode", on);
    document.body.classList.toggle("dark-mode", !on);
    localStorage.setItem("darkMode", String(!on));
  },
});

const look = { guid: "", version: 0, timer: 0, shown: "", asked: 0, first: true };

look.again = () => {
  clearTimeout(look.timer);
  look.timer = setTimeout(poll, 0);
};

async function poll() {
  const asked = ++look.asked;
  if (look.shown !== chats.selected) Object.assign(look, { shown: chats.selected, guid: "", version: 0 });
  try {
    const context = look.shown;
    const body = { context: context || null, log_from: look.version, notifications_from: 0, timezone: getUserTimezone() };
    const snapshot = await callJsonApi("/poll", body);
    if (asked === look.asked && context === chats.selected) await apply(snapshot);
    page.connected = true;
  } catch {
    page.connected = false;
  }
  if (asked === look.asked) look.timer = setTimeout(poll, POLL_MS);
}

async function apply(snapshot) {
  const ctx = { snapshot, willUpdateMessages: look.version !== snapshot.log_version, skip: false };
  await callJsExtensions("apply_snapshot_before", ctx);
  if (ctx.skip) return;
  chats.contexts = snapshot.contexts;
  tasks.tasks = snapshot.tasks;
  tasks.selected = chats.selected;
  notifications.updateFromPoll(snapshot);
  if (snapshot.deselect_chat) return chats.selectChat("");
  if (look.first) {
    look.first = false;
    if (!chats.selected && snapshot.contexts.length) return chats.selectChat(snapshot.contexts[0].id);
  }
  // Another guid is another log: what was counted so far means nothing in it.
  if (look.guid !== snapshot.log_guid) {
    const stale = look.version > 0;
    Object.assign(look, { guid: snapshot.log_guid, version: 0 });
    page.items = [];
    if (stale) return look.again();
  }
  draw(snapshot.logs);
  look.version = snapshot.log_version;
  page.paused = snapshot.paused;
  page.progress = snapshot.log_progress || "";
}

function draw(logs) {
  if (!logs.length) return;
  const known = new Map(page.items.map((item) => [item.no, item]));
  logs.forEach((item) => known.set(item.no, item));
  page.items = [...known.values()].sort((a, b) => a.no - b.no);
  globalThis.Alpine?.nextTick(() => {
    void callJsExtensions("set_messages_after_loop", {});
    document.getElementById("chat-history")?.scrollTo(0, 1e9);
  });
}

document.addEventListener("alpine:initialized", () => {
  page.light(localStorage.getItem("darkMode") === "false");
  void page.loadBanners();
  void poll();
});
