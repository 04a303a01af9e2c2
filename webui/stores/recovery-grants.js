/**
 * More attempts for several cut-off model calls at once. Each run is a request of its own, with the version that was
 * shown and an id of its own, and its outcome is told beside its name: one that changed meanwhile stops no other.
 */
import { ask, requestId } from "/plugins/durable_execution/webui/stores/recovery-api.js";
import * as dialog from "/plugins/durable_execution/webui/stores/recovery-dialog.js";
import * as format from "/plugins/durable_execution/webui/stores/recovery-format.js";

const RECORDED = { done: true, tone: "ok", icon: "check", text: "Recorded. The run continues." };
const CHANGED = { done: true, tone: "hold", icon: "update", text: "This run changed since it was shown. Nothing was recorded." };

export const grants = {
  group: null,

  /** Runs of the list that wait for nothing but a model call that was cut off. */
  get cutOff() {
    if (this.tab !== "needs_you") return [];
    return (this.list?.items ?? []).filter((item) => item.reason?.code === "model_interrupted" && item.step?.call_id);
  },

  /** What is shown from here on is what is sent: a refresh of the list does not change it. */
  openGroup() {
    this.group = { items: this.cutOff.map((item) => ({ ...item })), chosen: [], attempts: 1, outcomes: {}, ids: {}, sending: false, missing: "" };
    dialog.focusOn("rx-group-title");
  },

  closeGroup() {
    this.group = null;
    dialog.focusOn("rx-group-open", "rx-heading");
  },

  /** Whether any run of the form can still be sent. */
  get groupOpen() {
    return Boolean(this.group?.items.some((item) => !this.group.outcomes[item.run_id]?.done));
  },

  get groupLabel() {
    const { attempts, chosen, outcomes, sending } = this.group ?? { chosen: [], outcomes: {} };
    if (sending) return "Recording…";
    const open = chosen.filter((runId) => !outcomes[runId]?.done).length;
    const what = attempts === 1 ? "Allow 1 more attempt" : `Allow ${attempts} more attempts`;
    return open ? `${what} for ${format.plural(open, "run", "runs")}` : what;
  },

  async grantChosen() {
    const group = this.group;
    if (!group || group.sending) return;
    const open = group.items.filter((item) => group.chosen.includes(item.run_id) && !group.outcomes[item.run_id]?.done);
    group.missing = open.length ? "" : "Choose at least one run. Nothing is chosen for you.";
    if (group.missing) {
      this.alert = group.missing;
      return;
    }
    group.sending = true;
    for (const item of open) {
      if (this.group !== group) return;
      const outcome = await this._grantOne(group, item);
      group.outcomes = { ...group.outcomes, [item.run_id]: outcome };
    }
    group.sending = false;
    const said = Object.values(group.outcomes);
    const recorded = said.filter((each) => each === RECORDED).length;
    const live = `${format.plural(recorded, "run continues", "runs continue")}, ${said.length - recorded} not recorded.`;
    dialog.keepFocus("rx-group-close", "rx-heading");
    await this.refresh();
    this.live = live;
    dialog.keepFocus("rx-group-close", "rx-heading");
  },

  async _grantOne(group, item) {
    const what = `${item.run_id} ${item.version} ${group.attempts}`;
    group.ids[what] ??= requestId();
    const reply = await ask("recovery_grant", {
      run_id: item.run_id, version: item.version, call_id: item.step.call_id, attempts: group.attempts, request_id: group.ids[what],
    });
    if (reply.status === 200) return RECORDED;
    if (reply.status === 409) return CHANGED;
    if (reply.status === 422) return { done: true, tone: "hold", icon: "block", text: `${reply.body?.text ?? "Refused."} Nothing was recorded.` };
    const problem = format.problemOf(reply, { deciding: true });
    return { done: false, tone: "danger", icon: "error", text: `${problem.text} Sending it again is safe.` };
  },
};
