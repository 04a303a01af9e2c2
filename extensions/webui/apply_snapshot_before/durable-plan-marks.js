import { store } from "/plugins/durable_execution/webui/stores/recovery-plan.js";

/** Read from each push of the host which plan changed. Asks the server only about the plan that is shown. */
export default function readPlans(ctx) {
  store.takeSnapshot(ctx.snapshot);
}
