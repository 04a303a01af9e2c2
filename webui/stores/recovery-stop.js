/** Stop in the chat itself: asks once more, then ends the recorded run that is at work there. The server decides. */
import { createStore } from "/js/AlpineStore.js";
import { ask, requestId } from "/plugins/durable_execution/webui/stores/recovery-api.js";

const SAID = "The turn was stopped. Its records stay; the chat can be used.";
const UNSURE = "It is not known whether the turn was stopped. Look in Recovery.";

const model = {
  asked: "", // the run that was asked about: another one is asked about anew
  sending: false,

  /** The recorded run that is at work in the chat on the page, as the host's own push says; "" if there is none. */
  get run() {
    const Alpine = globalThis.Alpine;
    const shown = Alpine?.store("chats")?.selected;
    const known = [...(Alpine?.store("chats")?.contexts ?? []), ...(Alpine?.store("tasks")?.tasks ?? [])];
    const chat = known.find((each) => each.id === shown);
    return chat?.running ? String(chat._durable_run ?? "") : "";
  },

  get asks() {
    return Boolean(this.run) && this.asked === this.run;
  },

  ask(root) {
    this.asked = this.run;
    focusIn(root);
  },

  keep(root) {
    if (!this.asked) return;
    this.asked = "";
    focusIn(root);
  },

  async stop() {
    if (this.sending) return;
    this.sending = true;
    const reply = await ask("recovery_stop", { run_id: this.asked, request_id: requestId() });
    Object.assign(this, { sending: false, asked: "" });
    if (reply.status === 200) globalThis.toastFrontendSuccess?.(SAID, "Recovery", 4, "durable-recovery", undefined, true);
    else globalThis.toastFrontendError?.(reply.body?.text || UNSURE, "Recovery", 8, "durable-recovery", undefined, true);
  },
};

export const store = createStore("recoveryStop", model);

/** The button that was pressed is gone: the keyboard goes on at the one that took its place. */
function focusIn(root) {
  globalThis.Alpine.nextTick(() => root?.querySelector("button")?.focus());
}
