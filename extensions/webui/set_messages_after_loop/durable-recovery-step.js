import { heldStep } from "/plugins/durable_execution/webui/stores/recovery-format.js";
import { store } from "/plugins/durable_execution/webui/stores/recovery-store.js";

const WARNINGS = '[id^="message-durable-hold-"], [data-step-id^="durable-hold-"]';

/** Each warning of ours in the chat leads to its step in Recovery. */
export default function linkHeldSteps() {
  for (const warning of document.querySelectorAll(WARNINGS)) {
    const step = heldStep(warning.dataset.stepId ?? warning.id);
    if (step && !warning.querySelector(".durable-step-link")) warning.append(newLink(step));
  }
}

function newLink({ runId, callId }) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "text-button durable-door durable-step-link";
  button.textContent = "Show in Recovery";
  button.addEventListener("click", (event) => {
    event.stopPropagation(); // the host folds a step that is clicked
    store.show(button, runId, callId);
  });
  return button;
}
