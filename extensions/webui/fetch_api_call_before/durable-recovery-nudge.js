import { store } from "/plugins/durable_execution/webui/stores/recovery-store.js";

const SAID = "This chat waits for your decision, so it was not nudged. Open Recovery to decide.";

/**
 * A nudge of a held chat would not go on with it, and the host would still write into the
 * chat that it did. So the server is never asked.
 */
export default function holdNudge(ctx) {
  if (ctx.apiUrl !== "/api/nudge") return;
  const chatId = chatOf(ctx.request);
  if (!store.holds[chatId]) return;
  globalThis.toastFrontendInfo?.(SAID, "Recovery", 6, "durable-recovery", undefined, true);
  ctx.response = new Response(JSON.stringify({ message: SAID, ctxid: chatId }), {
    status: 200,
    headers: { "Content-Type": "application/json" },
  });
}

function chatOf(request) {
  try {
    return JSON.parse(request?.body ?? "{}").ctxid ?? "";
  } catch {
    return "";
  }
}
