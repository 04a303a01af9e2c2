/** State that components share. A store may be made before Alpine is there; its proxy follows it into Alpine. */

const stores = new Map();

export function createStore(name, initialState) {
  const home = () => globalThis.Alpine?.store(name) ?? initialState;
  const proxy = new Proxy(initialState, {
    get: (_, key) => home()[key],
    set: (_, key, value) => {
      home()[key] = value;
      return true;
    },
  });
  if (globalThis.Alpine) globalThis.Alpine.store(name, initialState);
  else document.addEventListener("alpine:init", () => globalThis.Alpine.store(name, initialState));
  stores.set(name, proxy);
  return proxy;
}

export function getStore(name) {
  return stores.get(name);
}
