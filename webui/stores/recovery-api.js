/** Asks the plugin's API and keeps the status beside the answer, which the host's callJsonApi drops. */
import { fetchApi } from "/js/api.js";

const BASE = "/plugins/durable_execution/";

/** Status 0 means that no answer came: nothing is known about what the server did. */
export async function ask(name, body = {}) {
  let response;
  try {
    response = await fetchApi(BASE + name, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      credentials: "same-origin",
      body: JSON.stringify(body),
    });
  } catch {
    return { status: 0, body: null };
  }
  // The host answers nothing at all while it sends the page to the login.
  if (!response) return { status: 0, body: null };
  try {
    return { status: response.status, body: await response.json() };
  } catch {
    return { status: response.ok ? 502 : response.status, body: {} };
  }
}

/** An id for one decision. crypto.randomUUID is missing on plain http outside localhost. */
export function requestId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "req_" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
