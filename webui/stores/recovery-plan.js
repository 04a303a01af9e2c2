/**
 * The plan of the chat that is open: what is stored, what a person changes, what the agent changed meanwhile.
 * A change is shown at once and sent in its turn; when it comes too late the server keeps both, and this says so.
 */
import { createStore } from "/js/AlpineStore.js";
import { ask } from "/plugins/durable_execution/webui/stores/recovery-api.js";
import { store as documents } from "/plugins/durable_execution/webui/stores/recovery-documents.js";
import { focusOn, keepFocus } from "/plugins/durable_execution/webui/stores/recovery-dialog.js";
import * as format from "/plugins/durable_execution/webui/stores/recovery-format.js";
import * as edits from "/plugins/durable_execution/webui/stores/recovery-plan-edits.js";

const KIND = "plan";
const LATE = "The plan was changed at the same time. What is stored stays, and your change is kept beside it.";

const GONE = "The item that you were editing was removed meanwhile. What you typed stands in the field for a new item.";

const blank = () => ({
  document: null, stored: null, waiting: 0, phase: "idle", problem: "", late: false, live: "", opened: false, editing: null, text: "", typed: "",
});

const model = {
  marks: {},
  chatId: "",
  ...blank(),
  _pending: 0,
  _reading: false,
  _hadConflicts: false,
  _turn: 0,
  _tail: Promise.resolve(),
  _kept: {},

  // ---- what the page hears ---------------------------------------------------------------

  takeSnapshot(snapshot) {
    const marks = {};
    for (const chat of [...(snapshot?.contexts ?? []), ...(snapshot?.tasks ?? [])]) {
      const mark = chat?._durable_documents?.[KIND];
      if (mark) marks[chat.id] = mark;
    }
    if (JSON.stringify(marks) === JSON.stringify(this.marks)) return;
    this.marks = marks;
    this._handFocusOn();
    this._follow();
    void globalThis.Alpine?.store("recovery")?.refresh?.(); // does nothing while the panel is closed
  },

  /** Another chat was opened: what was typed for the one before is kept for when the person comes back. */
  choose(chatId) {
    if (chatId === this.chatId) return;
    if (this.chatId) this._kept[this.chatId] = { opened: this.opened, editing: this.editing, text: this.text, typed: this.typed };
    this._turn += 1;
    Object.assign(this, blank(), { chatId: chatId ?? "" }, this._kept[chatId]);
    delete this._kept[chatId];
    this._follow();
    if (this.opened) void this.load();
  },

  get mark() {
    return this.marks[this.chatId] ?? null;
  },

  _follow() {
    const mark = this.mark;
    if (!this.chatId || this._pending) return;
    if (!mark) {
      if (this.stored?.revision) Object.assign(this, blank());
      return;
    }
    if (mark.revision !== this.stored?.revision || mark.conflicts !== this.waiting) void this.load();
  },

  async load() {
    const turn = ++this._turn;
    const chatId = this.chatId;
    if (!this.document) this.phase = "loading";
    const reply = await ask("document_read", { chat_id: chatId, kind: KIND });
    if (turn !== this._turn || chatId !== this.chatId || this._pending) return;
    if (reply.status !== 200) {
      const problem = format.problemOf(reply);
      Object.assign(this, { phase: "error", problem: `${problem.text} Nothing was changed.` });
      return;
    }
    this._take(reply.body.document, reply.body.waiting);
  },

  _take(document, waiting = this.waiting) {
    const before = this.stored;
    Object.assign(this, { stored: document, document, waiting, phase: "ready", problem: "" });
    if (!waiting) this.late = false;
    this._keepEditing();
    this._handFocusOn();
    this._beginReading();
    if (before && before.revision !== document.revision && document.written_by === "agent") {
      this.live = `The agent changed the plan: ${edits.progress(document.value)}.`;
    }
  },

  /** Who opened the plan and has not moved on meanwhile begins at its heading. */
  _beginReading() {
    const at = document.activeElement;
    if (this._reading && (!at || at === document.body || at.id === "durable-plan-toggle")) focusOn("durable-plan-heading");
    this._reading = false;
  },

  /** The way to a conflict goes with the last conflict; the focus must not fall out of the page with it. */
  _handFocusOn() {
    const had = this._hadConflicts;
    this._hadConflicts = this.conflicts > 0;
    if (!had || this.conflicts) return;
    if (document.activeElement?.classList.contains("rxp-conflict")) focusOn("durable-plan-toggle");
    else setTimeout(() => keepFocus("durable-plan-toggle"), 0); // it was hidden a moment ago
  },

  /** Somebody removed what is being edited: the words move to where they can still be used. */
  _keepEditing() {
    const id = this.editing?.id;
    if (!id || edits.itemOf(this.document.value, id)) return;
    Object.assign(this, { editing: null, typed: this.typed || this.text, problem: GONE, live: GONE });
    focusOn("durable-plan-new");
  },

  // ---- what a person does ----------------------------------------------------------------

  async toggle() {
    this.opened = !this.opened;
    this._reading = this.opened && !this.document;
    if (this._reading) await this.load();
    else if (this.opened) focusOn("durable-plan-heading");
  },

  check(id, done) {
    const text = edits.itemOf(this.document.value, id)?.text ?? "";
    return this._change((plan) => edits.marked(plan, id, done), `${done ? "Done" : "Not done"}: ${text}`);
  },

  move(id, by) {
    const before = this.document.value;
    if (edits.moved(before, id, by) === before) return undefined;
    const to = before.items.findIndex((item) => item.id === id) + by;
    const away = to === 0 ? "down" : to === before.items.length - 1 ? "up" : by < 0 ? "up" : "down";
    focusOn(`durable-plan-${away}-${to}`);
    return this._change((plan) => edits.moved(plan, id, by), `Moved to place ${to + 1}.`);
  },

  remove(id) {
    const at = this.document.value.items.findIndex((item) => item.id === id);
    const left = this.document.value.items.length - 1;
    const text = edits.itemOf(this.document.value, id)?.text ?? "";
    focusOn(left ? `durable-plan-done-${Math.min(at, left - 1)}` : "durable-plan-new");
    return this._change((plan) => edits.removed(plan, id), `Removed: ${text}`);
  },

  async add() {
    const text = this.typed;
    this.problem = edits.whyNot(text);
    if (!this.problem && this.document.value.items.length >= edits.MOST_ITEMS) this.problem = `A plan has at most ${edits.MOST_ITEMS} items.`;
    if (this.problem) return focusOn("durable-plan-new");
    this.typed = "";
    document.getElementById("durable-plan-new")?.focus(); // now: when the answer comes the person may be elsewhere
    const saved = await this._change((plan) => edits.added(plan, text), `Added: ${text.trim()}`);
    if (!saved && !this.typed && !this.late) this.typed = text;
    return undefined;
  },

  /** Begin to edit an item, or the title (no id). What it began with is kept: somebody may change it meanwhile. */
  edit(id = "", index = 0) {
    const text = id ? edits.itemOf(this.document.value, id).text : this.document.value.title;
    Object.assign(this, { text, editing: { id, index, from: text, base: this.stored } });
    focusOn("durable-plan-edit");
  },

  cancel() {
    const place = this._editPlace();
    this.editing = null;
    this.problem = "";
    focusOn(place);
  },

  async saveEdit() {
    const { id, from, base } = this.editing;
    const text = this.text;
    const chatId = this.chatId;
    this.problem = id ? edits.whyNot(text) : text.length > edits.MOST_TITLE ? edits.whyNot(text, edits.MOST_TITLE) : "";
    if (this.problem) return focusOn("durable-plan-edit");
    const place = this._editPlace();
    const change = (plan) => (id ? edits.written(plan, id, text) : edits.renamed(plan, text));
    const now = id ? edits.itemOf(this.document.value, id)?.text : this.document.value.title;
    const editing = this.editing;
    this.editing = null;
    focusOn(place);
    if (text.trim() === from) return undefined;
    // Somebody changed the very text that was edited: both versions are kept, from where this edit began.
    const saved = await this._change(change, "Saved.", now === from ? null : base);
    if (!saved && !this.late && chatId === this.chatId) Object.assign(this, { editing, text });
    return undefined;
  },

  _editPlace() {
    return this.editing?.id ? `durable-plan-edit-${this.editing.index}` : "durable-plan-rename";
  },

  async review(opener) {
    if (!this.document) await this.load();
    documents.show(opener, this.document?.document_id ?? "");
  },

  // ---- sending ---------------------------------------------------------------------------

  /** Show a change at once and send it after those before it. `from` is another revision to begin with than the stored one. */
  _change(change, said, from = null) {
    const chatId = this.chatId;
    if (!from) this.document = { ...this.document, value: change(this.document.value) };
    this._pending += 1;
    const sent = this._tail.then(() => this._send(chatId, change, said, from));
    this._tail = sent.catch(() => false);
    return sent;
  },

  async _send(chatId, change, said, from) {
    if (chatId !== this.chatId) {
      this._pending -= 1;
      return false;
    }
    const base = from ?? this.stored;
    const body = { chat_id: chatId, kind: KIND, expected_revision: base.revision, value: change(base.value) };
    const reply = await ask("document_save", body);
    this._pending -= 1;
    if (chatId !== this.chatId) return reply.status === 200;
    if (reply.status === 200) {
      this._turn += 1; // what is still being read is older
      this.stored = reply.body.document;
      if (!this._pending) {
        this._take(reply.body.document, reply.body.waiting);
        if (this.mark?.revision > this.stored.revision) void this.load();
      }
      this.live = said;
      return true;
    }
    this._refused(reply);
    return false;
  },

  _refused(reply) {
    if (reply.status === 409 && reply.body?.stored) {
      this.late = true;
      this.live = LATE;
      this._take(reply.body.stored, this.waiting + 1);
      if (!this._pending) void this.load();
      return;
    }
    this.document = this.stored;
    const problem = format.problemOf(reply);
    this.problem = reply.status === 422 ? reply.body.text : `${problem.text} Your change was not saved.`;
  },

  // ---- words -----------------------------------------------------------------------------

  get words() {
    return edits;
  },

  get exists() {
    return Boolean(this.document?.revision) || Boolean(this.mark);
  },

  get isShown() {
    return Boolean(this.chatId) && (this.opened || this.exists || this.phase !== "error");
  },

  get plan() {
    return this.document?.value ?? edits.EMPTY;
  },

  get rows() {
    return edits.rows(this.plan);
  },

  get conflicts() {
    return Math.max(this.waiting, this.mark?.conflicts ?? 0);
  },

  /** The line names the plan; open, its own heading does. */
  get lineName() {
    return this.document?.revision && !this.opened ? edits.nameOf(this.plan) : "Plan";
  },

  get lateText() {
    return LATE;
  },
};

export const store = createStore("durablePlan", model);
