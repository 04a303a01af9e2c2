/** <x-component path="…">: a file of HTML with its own styles and module scripts. Scripts run before its nodes appear. */
import { watch } from "/js/extensions.js";

const texts = new Map();
const scripts = new Map();
const loading = new WeakSet(); // an element that is seen twice while it is filled is filled once, as in the host

export async function importComponent(path, target) {
  if (loading.has(target)) return;
  loading.add(target);
  try {
    return await fill(path, target);
  } finally {
    loading.delete(target);
  }
}

async function fill(path, target) {
  const url = path.startsWith("/") ? path : `/components/${path.replace(/^components\//, "")}`;
  if (!texts.has(url)) texts.set(url, fetchText(url));
  const doc = new DOMParser().parseFromString(await texts.get(url), "text/html");
  const parts = [...doc.querySelectorAll("script, style, link[rel=stylesheet]")];
  target.replaceChildren();
  await Promise.all(parts.map((part, index) => use(part, target, `${url}#${index}`)));
  parts.forEach((part) => part.remove());
  target.append(...[...doc.body.childNodes].map((node) => document.importNode(node, true)));
  return doc;
}

async function fetchText(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} could not be loaded: ${response.statusText}`);
  return response.text();
}

async function use(part, target, key) {
  if (part.matches("script")) {
    if (!scripts.has(key)) scripts.set(key, part.src ? import(part.getAttribute("src")) : importText(part.textContent));
    await scripts.get(key);
    return;
  }
  const copy = document.importNode(part, true);
  const loaded = copy.matches("link") ? new Promise((done) => (copy.onload = copy.onerror = done)) : null;
  target.append(copy);
  await loaded;
}

/** Paths from the root mean nothing inside a blob, so they get the page's origin. */
async function importText(text) {
  const code = text.replace(/(\bfrom\s*|\bimport\s*\(?\s*)(["'])(\/[^"']*)\2/g, (_, word, quote, path) => {
    return `${word}${quote}${location.origin}${path}${quote}`;
  });
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function watchComponents() {
  watch("x-component", (element) => {
    importComponent(element.getAttribute("path"), element).catch((error) => console.error("A component failed:", error));
  });
}
