/**
 * Documents in the Recovery panel: the list, one document, and its conflicts. What is different and what a merge
 * proposes comes from the server; a person chooses, and every choice names the revision that was shown.
 */
import { createStore } from "/js/AlpineStore.js";
import { toLocalTime } from "/js/time-utils.js";
import { ask } from "/plugins/durable_execution/webui/stores/recovery-api.js";
import * as dialog from "/plugins/durable_execution/webui/stores/recovery-dialog.js";
import * as words from "/plugins/durable_execution/webui/stores/recovery-document-words.js";
import * as format from "/plugins/durable_execution/webui/stores/recovery-format.js";
import * as edits from "/plugins/durable_execution/webui/stores/recovery-plan-edits.js";

const PANEL = "/plugins/durable_execution/webui/main.html";
const SAVED = "Saved. Nothing was run.";

const closed = () => ({ phase: "idle", view: "list", documentId: "", list: null, shown: null, at: 0, problem: null, stale: null, draft: null, live: "", alert: "" });

const model = {
  ...closed(),
  side: "mine",
  all: false,
  wanted: "",
  _turn: 0,

  // ---- doors and life --------------------------------------------------------------------

  /** Open the panel at the documents; at one of them if the door belongs to one. */
  show(opener = null, documentId = "") {
    this.wanted = documentId;
    const recovery = globalThis.Alpine?.store("recovery");
    if (this.phase !== "idle" && documentId) {
      this.wanted = "";
      void this.select(documentId);
    } else if (recovery?.phase !== "idle") {
      void recovery?.showTab?.("documents");
    } else {
      recovery.wantedTab = "documents";
    }
    dialog.openedBy(opener);
    void globalThis.ensureModalOpen(PANEL);
  },

  /** The tab is on the page from now on. */
  open() {
    if (this.phase !== "idle") return;
    this.phase = "loading";
    const wanted = this.wanted;
    this.wanted = "";
    void (wanted ? this.select(wanted) : this.refresh());
  },

  close() {
    this._turn += 1;
    Object.assign(this, closed());
  },

  // ---- reading ---------------------------------------------------------------------------

  /** Look again. What a person is deciding about is never redrawn under them: it is marked as out of date. */
  async refresh() {
    if (this.phase === "idle" || this.phase === "sending") return;
    if (this.view === "document") return this.shown ? this._look() : undefined;
    const turn = ++this._turn;
    const reply = await ask("documents_list", { cursor: null });
    if (turn !== this._turn) return;
    if (reply.status !== 200) return this._failed(reply);
    Object.assign(this, { list: reply.body, problem: null, phase: "ready" });
  },

  again() {
    void (this.view === "document" && !this.shown ? this.select(this.documentId) : this.refresh());
  },

  async more() {
    const turn = ++this._turn;
    const reply = await ask("documents_list", { cursor: this.list.next });
    if (turn !== this._turn) return;
    if (reply.status !== 200) return this._failed(reply);
    const first = reply.body.items[0];
    this.list = { ...reply.body, items: [...this.list.items, ...reply.body.items] };
    if (first) dialog.focusOn(`rxd-card-${first.document_id}`);
  },

  async select(documentId) {
    const turn = ++this._turn;
    Object.assign(this, closed(), { list: this.list, phase: "loading", view: "document", documentId, all: false, side: "mine" });
    const reply = await ask("document_read", { document_id: documentId });
    if (turn !== this._turn) return;
    if (reply.status !== 200) return this._failed(reply);
    this._present(reply.body);
    dialog.focusOn("rxd-title");
  },

  back() {
    const card = `rxd-card-${this.documentId}`;
    this._turn += 1;
    Object.assign(this, closed(), { list: this.list, phase: "loading" });
    void this.refresh().then(() => dialog.focusOn(card, "rxd-heading"));
  },

  async _look() {
    const turn = ++this._turn;
    const reply = await ask("document_read", { document_id: this.documentId });
    if (turn !== this._turn || this.view !== "document") return;
    if (reply.status !== 200) return this._failed(reply);
    if (!this.conflict) return this._present(reply.body);
    const same = reply.body.document.revision === this.shown.document.revision;
    if (!same || !reply.body.conflicts.some((one) => one.conflict_id === this.conflict.conflict_id)) this._turnedStale(reply.body);
  },

  _present(view) {
    const open = this.conflict?.conflict_id;
    const at = Math.max(0, view.conflicts.findIndex((one) => one.conflict_id === open));
    Object.assign(this, { shown: view, at, phase: "ready", problem: null, stale: null });
  },

  _failed(reply) {
    this.problem = format.problemOf(reply);
    this.phase = "error";
    this.alert = `${this.problem.text} ${this.problem.safe}`;
  },

  _turnedStale(view) {
    this.stale = view;
    this.phase = "ready";
    this.alert = words.staleText(view, this.conflict);
  },

  /** What was typed into a merge stays; it is saved from the newest revision then. */
  showLatest() {
    const view = this.stale;
    const draft = this.draft;
    this._present(view);
    this.draft = this.conflict ? draft : null;
    this.alert = "";
    dialog.focusOn(this.draft ? "rxd-merge-title" : "rxd-title");
  },

  // ---- a conflict ------------------------------------------------------------------------

  get conflict() {
    return this.shown?.conflicts[this.at] ?? null;
  },

  choose(at) {
    Object.assign(this, { at, draft: null, all: false, side: "mine", problem: null });
    dialog.focusOn("rxd-conflict");
  },

  get hasSame() {
    return Boolean(this.conflict) && this.conflict.differs < this.conflict.parts.length;
  },

  get nextRevision() {
    return (this.shown?.document.revision ?? 0) + 1;
  },

  get parts() {
    return words.partsShown(this.conflict, this.all);
  },

  keepStored() {
    return this._settle("keep_stored");
  },

  useMine() {
    return this._settle("use_mine");
  },

  edit() {
    this.draft = structuredClone(JSON.parse(JSON.stringify(this.conflict.merged)));
    dialog.focusOn("rxd-merge-title");
  },

  cancelEdit() {
    Object.assign(this, { draft: null, problem: null });
    dialog.focusOn("rxd-edit");
  },

  get draftRows() {
    return this.draft ? edits.rows(this.draft) : [];
  },

  setDraft(id, field, value) {
    this.draft.items = this.draft.items.map((item) => (item.id === id ? { ...item, [field]: value } : item));
  },

  moveDraft(id, by) {
    const at = this.draft.items.findIndex((item) => item.id === id);
    this.draft = edits.moved(this.draft, id, by);
    const to = Math.min(this.draft.items.length - 1, Math.max(0, at + by));
    const away = to === 0 ? "down" : to === this.draft.items.length - 1 ? "up" : by < 0 ? "up" : "down";
    dialog.focusOn(`rxd-merge-${away}-${to}`);
  },

  removeDraft(id) {
    const at = this.draft.items.findIndex((item) => item.id === id);
    this.draft = edits.removed(this.draft, id);
    dialog.focusOn(`rxd-merge-text-${Math.min(at, this.draft.items.length - 1)}`, "rxd-merge-title");
  },

  saveMerge() {
    const empty = this.draft.items.findIndex((item) => edits.whyNot(item.text));
    if (empty >= 0) {
      this.problem = { text: edits.whyNot(this.draft.items[empty].text), safe: "Nothing was changed." };
      this.alert = this.problem.text;
      return dialog.focusOn(`rxd-merge-text-${empty}`);
    }
    return this._settle("merged", { value: this.draft });
  },

  async _settle(choice, more = {}) {
    if (this.phase === "sending" || this.stale) return;
    const revision = this.shown.document.revision;
    Object.assign(this, { phase: "sending", problem: null, alert: "" });
    const turn = ++this._turn;
    const reply = await ask("document_resolve", { conflict_id: this.conflict.conflict_id, choice, expected_revision: revision, ...more });
    if (turn !== this._turn) return;
    if (reply.status === 200) return this._settled(reply.body);
    this.phase = "ready";
    if (reply.status === 409) return this._look();
    this.problem = reply.status === 422 ? { text: reply.body.text, safe: "" } : format.problemOf(reply);
    this.alert = `${this.problem.text} ${this.problem.safe}`;
  },

  _settled(view) {
    Object.assign(this, { draft: null, all: false, side: "mine" });
    this._present(view);
    this.live = SAVED;
    globalThis.toastFrontendSuccess?.(SAVED, "Recovery", 5, "durable-recovery", undefined, true);
    dialog.focusOn(this.conflict ? "rxd-conflict" : "rxd-title");
  },

  // ---- words -----------------------------------------------------------------------------

  get words() {
    return words;
  },

  get edits() {
    return edits;
  },

  clock(at) {
    return Number.isFinite(at) ? toLocalTime(new Date(at), { dateStyle: "medium", timeStyle: "short" }) : "";
  },

  get canOpenChat() {
    return Boolean(globalThis.Alpine?.store("recovery")?.hasChat(this.shown?.document.chat_id));
  },

  openChat() {
    globalThis.Alpine?.store("recovery")?.openChat(this.shown.document.chat_id);
  },
};

export const store = createStore("recoveryDocuments", model);
