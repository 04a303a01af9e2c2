/**
 * State of the Recovery panel and of its doors in the page: what was asked, what was
 * answered, what a person typed. It decides nothing; the server says what is allowed.
 */
import { createStore } from "/js/AlpineStore.js";
import { toLocalTime } from "/js/time-utils.js";
import { ask } from "/plugins/durable_execution/webui/stores/recovery-api.js";
import * as dialog from "/plugins/durable_execution/webui/stores/recovery-dialog.js";
import { form } from "/plugins/durable_execution/webui/stores/recovery-form.js";
import * as format from "/plugins/durable_execution/webui/stores/recovery-format.js";
import { grants } from "/plugins/durable_execution/webui/stores/recovery-grants.js";
import { pages } from "/plugins/durable_execution/webui/stores/recovery-pages.js";
import * as timeline from "/plugins/durable_execution/webui/stores/recovery-timeline.js";

export const PANEL = "/plugins/durable_execution/webui/main.html";

const POLL_MS = 60_000;
const TABS = [["needs_you", "Needs you", "needs_you"], ["all", "All runs", ""], ["documents", "Documents", "in_conflict"]];

const model = {
  holds: {},
  tab: "needs_you",
  wantedTab: "",
  view: "list",
  phase: "idle",
  refreshing: false,
  status: null,
  list: null,
  runId: "",
  detail: null,
  problem: null,
  unfolded: {},
  allSteps: false,
  live: "",
  alert: "",
  now: 0,
  _wanted: null,
  _listTurn: 0,
  _runTurn: 0,
  _stop: null,

  // ---- doors -------------------------------------------------------------------------

  /** How many runs wait, as the host's own push says. */
  get waiting() {
    return new Set(Object.values(this.holds).map((hold) => hold.run_id)).size;
  },

  takeSnapshot(snapshot) {
    const holds = format.holdsIn(snapshot);
    if (JSON.stringify(holds) === JSON.stringify(this.holds)) return;
    this.holds = holds;
    void this.refresh();
  },

  /** Open the panel from one of its doors, at a run, or at a step of it, if the door belongs to one. */
  show(opener = null, runId = "", callId = "") {
    dialog.openedBy(opener);
    if (this.phase === "idle") this._wanted = runId ? { runId, callId } : null;
    else if (runId) void this.select(runId, callId);
    // The host's promise resolves only when the modal closes again: nothing to wait for.
    void globalThis.ensureModalOpen(PANEL);
  },

  // ---- life --------------------------------------------------------------------------

  open(root) {
    this.close();
    dialog.enter(root);
    this.phase = "loading";
    this.view = "list";
    this.tab = this.wantedTab || "needs_you";
    this.wantedTab = "";
    const again = () => document.visibilityState === "visible" && void this.refresh();
    const timer = setInterval(again, POLL_MS);
    document.addEventListener("visibilitychange", again);
    window.addEventListener("focus", again);
    window.addEventListener("online", again);
    this._stop = () => {
      clearInterval(timer);
      clearTimeout(this._searching);
      document.removeEventListener("visibilitychange", again);
      window.removeEventListener("focus", again);
      window.removeEventListener("online", again);
      dialog.leave();
    };
    dialog.focusOn("rx-heading");
    void this.refresh();
  },

  close() {
    this._stop?.();
    this._stop = null;
    this._listTurn += 1;
    this._runTurn += 1;
    this._clearForm();
    Object.assign(this, {
      phase: "idle", view: "list", runId: "", list: null, detail: null, problem: null, live: "", alert: "", refreshing: false,
      group: null, query: "", searched: "",
    });
  },

  // ---- reading -----------------------------------------------------------------------

  async refresh() {
    if (this.phase === "sending" || this.phase === "idle") return;
    const turn = ++this._listTurn;
    this.refreshing = true;
    const status = await ask("status");
    if (turn !== this._listTurn) return;
    if (status.status !== 200) return this._listFailed(status);
    this.status = status.body;
    void globalThis.Alpine?.store("recoverySuspend")?.look();
    if (!this.status.active) {
      dialog.keepFocus("rx-heading");
      this._clearForm();
      Object.assign(this, { list: null, detail: null, view: "list", problem: null, phase: "ready", refreshing: false });
      return;
    }
    const wanted = this._wanted;
    this._wanted = null;
    if (wanted) void this.select(wanted.runId, wanted.callId);
    if (this.tab === "documents") void globalThis.Alpine?.store("recoveryDocuments")?.refresh();
    const list = await this._pages(turn);
    if (turn !== this._listTurn) return;
    if (list.status !== 200) return this._listFailed(list);
    this._takeList(list.body);
    if (this.view === "detail" && this.detail && this.phase !== "sending") await this._look();
  },

  _takeList(list) {
    const before = this.list?.counts?.needs_you;
    const after = list.counts?.needs_you ?? 0;
    Object.assign(this, { list, problem: null, refreshing: false, now: list.checked_at });
    if (this.view === "list" && this.phase !== "sending") this.phase = "ready";
    dialog.keepFocus("rx-heading", "rx-run-title");
    if (before === after) return;
    this.live = after ? `${format.needs(after)}.` : "Nothing is waiting.";
  },

  _listFailed(reply) {
    this.refreshing = false;
    this.problem = format.problemOf(reply);
    if (this.view === "list") this.phase = "error";
    this.alert = `${this.problem.text} ${this.problem.safe}`;
  },

  get tabs() {
    return TABS;
  },

  async showTab(tab) {
    if (tab === this.tab) return;
    clearTimeout(this._searching);
    Object.assign(this, { tab, list: null, view: "list", phase: "loading", group: null, query: "", searched: "" });
    dialog.keepFocus(`rx-tab-${tab}`);
    await this.refresh();
  },

  /** Arrow keys, Home and End move between the tabs and open them. */
  moveTab(event) {
    const at = TABS.findIndex(([tab]) => tab === this.tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const [tab] = TABS[(to + TABS.length) % TABS.length];
    dialog.focusOn(`rx-tab-${tab}`);
    void this.showTab(tab);
  },

  async select(runId, callId = "") {
    const turn = ++this._runTurn;
    this._clearForm();
    Object.assign(this, { view: "detail", runId, detail: null, unfolded: {}, allSteps: false, problem: null, alert: "", phase: "loading" });
    dialog.reveal(`rx-card-${runId}`);
    dialog.focusOn("rx-run-title");
    const reply = await ask("recovery_run", { run_id: runId });
    if (turn !== this._runTurn) return;
    if (reply.status !== 200) {
      this.problem = format.problemOf(reply);
      this.phase = "error";
      this.alert = `${this.problem.text} ${this.problem.safe}`;
      return;
    }
    this._present(reply.body);
    if (callId && reply.body.calls.some((call) => call.call_id === callId)) this._openStep(callId);
    else dialog.keepFocus("rx-run-title");
  },

  /** From the chat to a step: it is open, in view, and what is asked is asked about it. */
  _openStep(callId) {
    this.unfolded = { ...this.unfolded, [callId]: true };
    if (!this.rows.some((row) => row.call?.call_id === callId)) this.allSteps = true;
    if (this.undecided.some((call) => call.call_id === callId) && this.draft.call_id !== callId) this.chooseCall(callId);
    dialog.focusOn(`rx-row-${callId}`, "rx-run-title");
  },

  back() {
    const card = `rx-card-${this.runId}`;
    this._runTurn += 1;
    this._clearForm();
    Object.assign(this, { view: "list", detail: null, problem: null, alert: "", phase: "ready" });
    dialog.focusOn(card, "rx-heading");
  },

  /** Look at the open run again without touching a form that someone may be filling in. */
  async _look() {
    const turn = ++this._runTurn;
    const reply = await ask("recovery_run", { run_id: this.runId });
    if (turn !== this._runTurn || this.view !== "detail") return;
    if (reply.status !== 200) {
      this.problem = format.problemOf(reply);
      if (!this.detail) this.phase = "error";
      return;
    }
    this._arrived(reply.body);
  },

  _arrived(view) {
    this.problem = null;
    if (!this.detail || this.phase === "error") return this._present(view);
    if (view.run.version === this.detail.run.version) return;
    if (!this.asks) return this._present(view);
    this._turnedStale(view);
  },

  /** A message that a Stop left over is sent or discarded by a person; the server says what became of it. */
  async settleMessage(message, action) {
    const { run_id, version } = this.run;
    const reply = await ask("message_settle", { run_id, version, input_id: message.input_id, action });
    if (this.view !== "detail" || this.runId !== run_id) return;
    if (reply.status !== 200) {
      this.problem = format.problemOf(reply);
      this.alert = `${this.problem.text} ${this.problem.safe}`;
      return;
    }
    this.live = action === "send" ? "The message was sent." : "The message was discarded.";
    dialog.keepFocus("rx-messages", "rx-run-title");
    this._present(reply.body);
  },

  // ---- words -------------------------------------------------------------------------

  get words() {
    return format;
  },

  get run() {
    return this.detail?.run ?? {};
  },

  get lead() {
    if (!this.list) return "";
    return format.headline(this.list.counts, this.tab);
  },

  /** Known from the list before the run itself is read, so that the heading is there at once. */
  get title() {
    const listed = this.list?.items.find((item) => item.run_id === this.runId);
    return this.detail?.run.title || listed?.title || "Chat without a name";
  },

  /** One of the steps that are asked about is a command of its own, which a restart does not end. */
  get mayStillRun() {
    return this.asks && this.undecided.some((call) => format.mayStillRun(call));
  },

  get legend() {
    return this.decidingCall ? `Your decision about step ${this.decidingCall.n}` : "Your decision";
  },

  get line() {
    return timeline;
  },

  get rows() {
    return timeline.timelineRows(this.detail, this.allSteps);
  },

  /** What would happen with the choice that is taken, call by call. */
  get foreseen() {
    const named = (call) => [format.stepName(call), format.summaryOf(call)].filter(Boolean).join(" · ");
    return timeline.previewRows(this.option, this.detail?.calls, named);
  },

  get savedLine() {
    const used = this.detail?.usage;
    const text = timeline.savedText(used?.saved, used?.estimated);
    return text ? `Saved results were used again: ${text}.` : "";
  },

  showAllSteps(callId) {
    this.allSteps = true;
    dialog.focusOn(`rx-row-${callId}`);
  },

  saidAbout(callId) {
    return (this.detail?.recorded ?? []).filter((said) => said.call_id === callId);
  },

  clock(at) {
    return Number.isFinite(at) ? toLocalTime(new Date(at), { dateStyle: undefined, timeStyle: "short" }) : "";
  },

  exactly(at) {
    return Number.isFinite(at) ? toLocalTime(new Date(at)) : "";
  },

  age(at) {
    return format.age(at, this.now, (time) => toLocalTime(new Date(time), { dateStyle: "medium", timeStyle: "short" }));
  },

  toggle(callId) {
    this.unfolded = { ...this.unfolded, [callId]: !this.unfolded[callId] };
  },

  hasChat(chatId) {
    const listed = (name, key) => (globalThis.Alpine?.store(name)?.[key] ?? []).some((chat) => chat.id === chatId);
    return listed("chats", "contexts") || listed("tasks", "tasks");
  },

  /** Show the chat; with a step, the place in it that says why it waits. */
  openChat(chatId, callId = "") {
    const runId = this.run.run_id;
    const tasks = globalThis.Alpine?.store("tasks");
    if (tasks?.tasks?.some((task) => task.id === chatId)) tasks.selectTask(chatId);
    else void globalThis.Alpine?.store("chats")?.selectChat(chatId);
    void globalThis.closeModal(PANEL);
    if (callId) dialog.revealInChat(format.holdMark(runId, callId));
  },
};

// Getters must stay getters: copied by descriptor, not by value.
for (const part of [form, grants, pages]) Object.defineProperties(model, Object.getOwnPropertyDescriptors(part));

export const store = createStore("recovery", model);
