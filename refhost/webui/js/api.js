/** Requests to the server. Adds the token, lets extensions look, and sends a request that got 403 once more. */
import { callJsExtensions } from "/js/extensions.js";

const UNSEEN = "/api/load_webui_extensions"; // extensions are found through it, so they cannot watch it

let token = null;

export async function callJsonApi(endpoint, data) {
  const response = await fetchApi(endpoint, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    credentials: "same-origin",
    body: JSON.stringify(data),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

export async function fetchApi(url, request = {}) {
  const apiUrl = `/api/${url.replace(/^\/*(api\/)?/, "")}`;
  const seen = apiUrl !== UNSEEN;
  for (const retry of [true, false]) {
    request.headers = { ...request.headers, "X-CSRF-Token": await getCsrfToken() };
    const ctx = { url, apiUrl, request, response: null, retry };
    if (seen) await callJsExtensions("fetch_api_call_before", ctx);
    ctx.response ??= await fetch(apiUrl, request);
    if (seen) await callJsExtensions("fetch_api_call_after", ctx);
    if (ctx.response.status !== 403 || !retry) return ctx.response;
    token = null;
  }
}

export async function getCsrfToken() {
  token ??= fetch("/api/csrf_token", { credentials: "same-origin" }).then(async (response) => {
    const answer = await response.json();
    if (!answer.ok) throw new Error(answer.error);
    return answer.token;
  });
  try {
    return await token;
  } catch (error) {
    token = null;
    throw error;
  }
}
