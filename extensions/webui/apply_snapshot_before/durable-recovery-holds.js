import { badgeHeldChats } from "/plugins/durable_execution/webui/stores/recovery-badges.js";
import { store } from "/plugins/durable_execution/webui/stores/recovery-store.js";

/** Read from each push of the host which chats wait for a person. Asks the server nothing. */
export default function readHolds(ctx) {
  store.takeSnapshot(ctx.snapshot);
  badgeHeldChats();
}
