/**
 * The decision form of the Recovery store: what was typed, what is missing, what is sent.
 * What was typed survives Escape, Back and a stale version; it is dropped once it is recorded.
 */
import { ask, requestId } from "/plugins/durable_execution/webui/stores/recovery-api.js";
import * as dialog from "/plugins/durable_execution/webui/stores/recovery-dialog.js";
import * as format from "/plugins/durable_execution/webui/stores/recovery-format.js";

const BLANK = { version: 0, call_id: null, decision: "", note: "", ack: false, attempts: 1, result_text: "" };

const PLACE = { decision: "rx-choice-0", note: "rx-note", ack: "rx-ack" };

export const form = {
  draft: { ...BLANK },
  missing: {},
  formProblem: null,
  latest: null,
  _drafts: {},
  _sent: { id: "", text: "" },

  /** Take the form away; what was typed stays in _drafts. */
  _clearForm() {
    Object.assign(this, { draft: { ...BLANK }, missing: {}, formProblem: null, latest: null });
  },

  _present(view) {
    const waiting = format.undecided(view);
    const typed = this._drafts[view.run.run_id];
    if (typed?.version !== view.run.version) {
      this._drafts[view.run.run_id] = {
        ...BLANK, version: view.run.version, call_id: waiting[0]?.call_id ?? null, note: typed?.note ?? "",
      };
    }
    const unfolded = Object.fromEntries(waiting.map((call) => [call.call_id, true]));
    Object.assign(this, {
      detail: view, latest: null, draft: this._drafts[view.run.run_id], missing: {}, formProblem: null, alert: "",
      unfolded: { ...unfolded, ...this.unfolded }, phase: "ready", problem: null, now: view.checked_at,
    });
  },

  /** Whether a person is asked anything about the run that is shown. */
  get asks() {
    return this.detail?.run.state === "held" && this.options.length > 0;
  },

  get options() {
    return format.optionsFor(this.detail, this.draft.call_id);
  },

  get option() {
    return this.options.find((option) => option.id === this.draft.decision) ?? null;
  },

  get undecided() {
    return format.undecided(this.detail);
  },

  get decidingCall() {
    return this.undecided.find((call) => call.call_id === this.draft.call_id) ?? null;
  },

  /** A choice that is not on offer can be read and focused, but not taken. */
  choose(option, event = null) {
    if (!option.allowed) return event?.preventDefault();
    Object.assign(this.draft, { decision: option.id, ack: false });
    this.missing = {};
  },

  chooseCall(callId) {
    Object.assign(this.draft, { call_id: callId, decision: "", ack: false, result_text: "" });
    this.missing = {};
  },

  async submit() {
    if (this.phase !== "ready" || !this.asks) return;
    const { draft, option } = this;
    this.missing = format.missing(draft, option);
    const first = Object.keys(this.missing)[0];
    if (first) {
      this.alert = this.missing[first];
      return dialog.focusOn(PLACE[first]);
    }
    const [name, body] = this._request(draft, option);
    Object.assign(this, { phase: "sending", alert: "", formProblem: null });
    const turn = ++this._runTurn;
    const reply = await ask(name, body);
    if (turn !== this._runTurn) return;
    if (reply.status === 200) return this._recorded(reply.body.run);
    this.phase = "ready";
    if (reply.status === 409) return this._conflict();
    if (reply.body?.field && (reply.status === 422 || reply.status === 400)) return this._refused(reply.body);
    this.formProblem = format.problemOf(reply, { deciding: true });
    this.alert = `${this.formProblem.text} ${this.formProblem.safe}`;
    dialog.focusOn("rx-form-problem");
  },

  /** A repeated send of the same content keeps its id: the server takes it as one decision. */
  _request(draft, option) {
    if (option.state !== undefined) return this._restoring(draft, option);
    const said = { run_id: this.detail.run.run_id, version: this.detail.run.version, call_id: option.call_id ?? null };
    const asked =
      option.id === "grant"
        ? { ...said, attempts: draft.attempts }
        : {
            ...said, shown_digest: option.digest, decision: option.id, note: draft.note.trim(), ack: draft.ack,
            result_text: option.id === "confirmed_completed" && draft.result_text.trim() ? draft.result_text : null,
          };
    return this._named(option.id === "grant" ? "recovery_grant" : "recovery_decide", asked);
  },

  _restoring(draft, option) {
    return this._named("recovery_restore", {
      run_id: this.detail.run.run_id, version: this.detail.run.version, selection: option.state,
      shown_digest: option.digest, note: draft.note.trim(), ack: draft.ack,
    });
  },

  _named(name, asked) {
    const text = JSON.stringify(asked);
    if (this._sent.text !== text) this._sent = { id: requestId(), text };
    return [name, { ...asked, request_id: this._sent.id }];
  },

  async _recorded(run) {
    const runId = this.detail.run.run_id;
    const stopped = run?.state === "stopped";
    delete this._drafts[runId];
    const said = run?.state === "held" ? "Recorded. Another step of this run needs you."
      : stopped ? "Recorded. The run is stopped." : "Recorded. The run continues.";
    globalThis.toastFrontendSuccess?.(said, "Recovery", 4, "durable-recovery", undefined, true);
    this.phase = "ready";
    if (run?.state === "held") {
      await this.select(runId);
      this.live = said;
      return;
    }
    this.back();
    await this.refresh();
    this.live = said;
    if (this.view !== "list") return; // the person has opened another run meanwhile
    const next = this.list?.items.find((item) => item.state === "held");
    dialog.focusOn(next ? `rx-card-${next.run_id}` : "rx-heading", "rx-heading");
  },

  async _conflict() {
    const reply = await ask("recovery_run", { run_id: this.runId });
    this._turnedStale(reply.status === 200 ? reply.body : null);
  },

  _turnedStale(view) {
    this.latest = view;
    this.phase = "stale";
    this.alert = format.whatChanged(this.detail, view);
    dialog.focusOn("rx-show-latest");
  },

  _refused(body) {
    const place = PLACE[body.field];
    if (place) this.missing = { [body.field]: body.text };
    else this.formProblem = { text: "The decision was not recorded.", safe: "Your note is kept here.", detail: body.text };
    this.alert = body.text;
    dialog.focusOn(place ?? "rx-form-problem");
  },

  async showLatest() {
    // Also at the same version: what was shown is not what would happen, so nothing of it stays chosen.
    Object.assign(this.draft, { decision: "", ack: false });
    if (this.latest) this._present(this.latest);
    else await this.select(this.runId);
    this.live = "The latest state is shown. Your note is kept.";
    dialog.focusOn("rx-run-title");
    await this.refresh();
  },
};
