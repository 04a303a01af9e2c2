/** A stack of dialogs, each filled from a component file. As in the host they have no role and no focus of their own. */
import { importComponent } from "/js/components.js";
import { callJsExtensions } from "/js/extensions.js";

const stack = [];
const backdrop = Object.assign(document.createElement("div"), { className: "modal-backdrop", hidden: true });
document.body.append(backdrop);

const FRAME = `
  <div class="modal-inner" x-data>
    <x-extension id="modal-shell-start"></x-extension>
    <div class="modal-header"><h2 class="modal-title"></h2><button class="modal-close">&times;</button></div>
    <div class="modal-scroll"><div class="modal-bd"></div></div>
    <div class="modal-footer-slot" style="display: none"></div>
    <x-extension id="modal-shell-end"></x-extension>
  </div>`;

/** Resolves when the modal is closed, not when it is open. */
export async function openModal(path, beforeClose = null) {
  const ctx = { modalPath: path, modal: null, cancel: false };
  await callJsExtensions("open_modal_before", ctx);
  if (ctx.cancel) return;
  const element = Object.assign(document.createElement("div"), { className: "modal show", innerHTML: FRAME });
  const modal = { path: ctx.modalPath, element, beforeClose };
  const closed = new Promise((done) => (modal.done = done));
  element.querySelector(".modal-close").addEventListener("click", () => closeModal(modal.path));
  element.addEventListener("mousedown", (event) => event.target === element && closeModal(modal.path));
  document.body.append(element);
  stack.push(modal);
  arrange();
  await fill(modal);
  await closed;
}

async function fill(modal) {
  const part = (name) => modal.element.querySelector(`.modal-${name}`);
  try {
    const doc = await importComponent(modal.path, part("bd"));
    part("title").innerHTML = doc.title || modal.path; // the host writes HTML here as well
    part("inner").classList.add(...doc.documentElement.classList);
    part("bd").classList.add(...doc.body.classList);
    await callJsExtensions("modal_content_loaded", { modalPath: modal.path, modal, doc });
    requestAnimationFrame(() => {
      const footer = part("bd")?.querySelector("[data-modal-footer]");
      if (!footer) return;
      part("footer-slot").append(footer);
      part("footer-slot").style.display = "block";
      part("inner").classList.add("modal-with-footer");
    });
  } catch (error) {
    console.error("A dialog could not be filled:", error);
    part("bd").textContent = `This could not be loaded: ${error.message}`;
  }
}

export function isModalOpen(path) {
  return stack.some((modal) => modal.path === path);
}

export async function ensureModalOpen(path, beforeClose = null) {
  const known = stack.find((modal) => modal.path === path);
  if (!known) return openModal(path, beforeClose);
  stack.push(...stack.splice(stack.indexOf(known), 1));
  arrange();
}

export async function closeModal(path = null) {
  const modal = path ? stack.find((each) => each.path === path) : stack.at(-1);
  if (!modal) return;
  const ctx = { modalPath: path, modal, cancel: false };
  await callJsExtensions("close_modal_before", ctx);
  if (ctx.cancel || (modal.beforeClose && (await modal.beforeClose()) === false)) return false;
  stack.splice(stack.indexOf(modal), 1);
  modal.element.remove();
  arrange();
  modal.done();
  return true;
}

function arrange() {
  stack.forEach((modal, index) => (modal.element.style.zIndex = 5000 + index * 20));
  backdrop.hidden = stack.length === 0;
  backdrop.style.zIndex = 4990 + (stack.length - 1) * 20;
}

document.addEventListener("keydown", (event) => event.key === "Escape" && closeModal());

Object.assign(globalThis, { openModal, closeModal, ensureModalOpen, isModalOpen });
