/**
 * Lets Node import the panel's modules: their addresses on the host become files, and the
 * four modules of the host become the few lines below. `host` is what a test sets and reads.
 */
import { webcrypto } from "node:crypto";
import { register } from "node:module";

export const host = { answers: {}, asked: [], toasts: [], focused: [], stores: {}, visible: true };

globalThis.durableTestHost = host;
globalThis.crypto ??= webcrypto; // no global yet in the Node 18 of Debian 12
globalThis.requestAnimationFrame = (run) => run();
globalThis.toastFrontendSuccess = (...said) => host.toasts.push(said[0]);
globalThis.toastFrontendInfo = globalThis.toastFrontendSuccess;
globalThis.ensureModalOpen = () => {};
globalThis.closeModal = () => {};
const listeners = () => ({ addEventListener() {}, removeEventListener() {} });
globalThis.window = listeners();
globalThis.document = {
  ...listeners(),
  get visibilityState() {
    return host.visible ? "visible" : "hidden";
  },
  activeElement: null,
  querySelector: () => null,
  getElementById: (id) => ({ getClientRects: () => [1], scrollIntoView() {}, focus: () => host.focused.push(id) }),
};

const code = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const MODULES = {
  "/js/AlpineStore.js": code("export const createStore = (name, model) => (globalThis.durableTestHost.stores[name] = model);"),
  "/js/time-utils.js": code("export const toLocalTime = (date) => date.toISOString();"),
  "/js/api.js": code(`export async function fetchApi(url, request) {
    const host = globalThis.durableTestHost;
    const name = url.split("/").pop();
    const body = JSON.parse(request.body);
    host.asked.push({ name, body });
    const answer = host.answers[name];
    const [status, text] = await (typeof answer === "function" ? answer(body) : answer);
    if (status === 0) throw new TypeError("Failed to fetch");
    return new Response(typeof text === "string" ? text : JSON.stringify(text), { status });
  }`),
};
const root = new URL("../../../", import.meta.url).href;
const hooks = `
  const modules = ${JSON.stringify(MODULES)};
  export const resolve = (name, context, next) =>
    modules[name] ? { url: modules[name], shortCircuit: true }
    : name.startsWith("/plugins/durable_execution/") ? next(name.replace("/plugins/durable_execution/", ${JSON.stringify(root)}), context)
    : next(name, context);
  export const load = (url, context, next) =>
    url.includes("/webui/") ? next(url, { ...context, format: "module" }) : next(url, context);`;
register(code(hooks));

export const panel = (path) => import(`/plugins/durable_execution/webui/stores/${path}`);
