/** Puts everything that runs aside for a restart, and says when it is safe. The server does it; here it is asked and looked at. */
import { createStore } from "/js/AlpineStore.js";
import { ask } from "/plugins/durable_execution/webui/stores/recovery-api.js";

const LOOK_MS = 500;
const UNSURE = "No answer came. Look again before you restart.";

const model = {
  now: null, // what the server says of the suspension, or null
  sending: false,
  problem: "",
  _turn: 0,
  _timer: 0,

  close() {
    this._turn += 1;
    clearTimeout(this._timer);
  },

  get title() {
    if (this.now?.safe) return "Safe to restart now";
    return this.now?.state === "suspended" ? "Not safe to restart yet" : "Being suspended";
  },

  /** What follows the title; the server's sentence begins with the same words, for those who see no title. */
  get text() {
    return String(this.now?.text ?? "").replace(`${this.title}. `, "");
  },

  async send(action) {
    if (this.sending) return;
    this.sending = true;
    const turn = ++this._turn;
    const reply = await ask("suspend", { action });
    this.sending = false;
    if (turn === this._turn) this.take(reply);
  },

  async look() {
    if (this.sending) return;
    const turn = ++this._turn;
    const reply = await ask("status");
    if (turn === this._turn) this.take(reply);
  },

  /** Until it is safe the server is asked again, as long as somebody looks. */
  take(reply) {
    clearTimeout(this._timer);
    this.problem = reply.status === 200 ? "" : reply.body?.text || UNSURE;
    if (reply.status !== 200) return;
    this.now = reply.body.suspension ?? null;
    const isShown = globalThis.Alpine?.store("recovery")?.phase !== "idle";
    if (this.now && !this.now.safe && isShown) this._timer = setTimeout(() => void this.look(), LOOK_MS);
  },
};

export const store = createStore("recoverySuspend", model);
