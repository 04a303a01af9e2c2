/** Starts the page: components and extensions are watched, then Alpine runs with the host's directives. */
import { watchComponents } from "/js/components.js";
import { callJsExtensions, watchExtensions } from "/js/extensions.js";
import "/js/modals.js";

document.addEventListener("alpine:init", () => {
  const { Alpine } = globalThis;
  Alpine.directive("create", (_, { expression }, { evaluateLater }) => evaluateLater(expression)());
  Alpine.directive("destroy", (_, { expression }, { evaluateLater, cleanup }) => {
    const run = evaluateLater(expression);
    cleanup(() => run());
  });
  for (const [unit, length] of [["second", 1000], ["minute", 60_000], ["hour", 3_600_000]]) {
    Alpine.directive(`every-${unit}`, (_, { expression }, { evaluateLater, cleanup }) => {
      const run = evaluateLater(expression);
      const timer = setInterval(() => run(), length);
      cleanup(() => clearInterval(timer));
    });
  }
  const places = {
    "move-before": (el, place) => place.before(el),
    "move-after": (el, place) => place.after(el),
    "move-to-start": (el, place) => place.prepend(el),
    "move-to-end": (el, place) => place.append(el),
  };
  for (const [name, move] of Object.entries(places)) {
    Alpine.directive(name, (el, { expression }) => {
      Alpine.nextTick(() => {
        const place = document.querySelector(expression.replace(/^["']|["']$/g, ""));
        if (place) move(el, place);
      });
    });
  }
});

await callJsExtensions("initFw_start");
watchExtensions();
watchComponents();
try {
  await import("/vendor/alpine.min.js");
} catch {
  document.body.textContent = "The page needs Alpine, which is not here. See refhost/README.md, “The page”.";
}
await callJsExtensions("initFw_end");
