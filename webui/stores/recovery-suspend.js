/** Puts everything that runs aside for a restart, and says when it is safe. The server does it; here it is asked and looked at. */
import { createStore } from "/js/AlpineStore.js";
import { ask } from "/plugins/durable_execution/webui/stores/recovery-api.js";

const LOOK_MS = 500;
const UNSURE = "No answer came. Look again before you restart.";

const model = {
  now: null, // what the server says of the suspension, or null
  sending: false,
  problem: "",

  async send(action) {
    if (this.sending) return;
    this.sending = true;
    const reply = await ask("suspend", { action });
    this.sending = false;
    this.take(reply);
  },

  async look() {
    const reply = await ask("status");
    this.take(reply);
  },

  /** While steps still run the server is asked again, as long as somebody looks. */
  take(reply) {
    this.problem = reply.status === 200 ? "" : reply.body?.text || UNSURE;
    if (reply.status !== 200) return;
    this.now = reply.body.suspension ?? null;
    if (this.now?.state === "suspending" && document.querySelector("#rx-resume, #rx-suspend")) setTimeout(() => void this.look(), LOOK_MS);
  },
};

export const store = createStore("recoverySuspend", model);
