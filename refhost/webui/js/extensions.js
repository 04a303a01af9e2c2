/** Files of plugins: functions at named moments, and pieces of page at <x-extension id="point">. */
import { callJsonApi } from "/js/api.js";

const functions = new Map();
const pages = new Map();

/** Run the functions of a point one after the other. What one of them throws is only written to the console. */
export async function callJsExtensions(point, ...data) {
  if (!functions.has(point)) functions.set(point, load(point));
  for (const { path, run } of await functions.get(point)) {
    try {
      await run(...data);
    } catch (error) {
      console.error(`The extension ${path} failed:`, error);
    }
  }
}

async function load(point) {
  try {
    const paths = await find(point, ["*.js", "*.mjs"]);
    return await Promise.all(paths.map(async (path) => ({ path, run: (await import(path)).default })));
  } catch (error) {
    console.error("Extensions could not be loaded:", error);
    functions.delete(point);
    return [];
  }
}

async function find(point, filters) {
  const answer = await callJsonApi("/load_webui_extensions", { extension_point: point, filters });
  return answer.extensions.map((path) => (path.startsWith("/") ? path : `/${path}`));
}

async function fill(element) {
  const point = element.id;
  if (!pages.has(point)) pages.set(point, find(point, ["*.html"]));
  element.replaceChildren(
    ...(await pages.get(point)).map((path) => {
      const component = document.createElement("x-component");
      component.setAttribute("path", path);
      return component;
    }),
  );
}

export function watchExtensions() {
  watch("x-extension", fill);
}

/** Call `found` for each element of this name that is on the page or gets there. */
export function watch(selector, found) {
  const look = (root) => {
    if (root.matches?.(selector)) found(root);
    root.querySelectorAll?.(selector).forEach(found);
  };
  look(document.body);
  new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach(look))).observe(document.body, {
    childList: true,
    subtree: true,
  });
}
