// Keys of the whole page. A view adds its own; those added last are asked first.

import { useLayoutEffect, useRef } from "preact/hooks";

const layers = [];

function isTyping(target) {
  return target.matches?.("input, textarea, select, [contenteditable]");
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // Enter and the space belong to what has the focus, if that can be pressed.
  if ((event.key === "Enter" || event.key === " ") && event.target.matches?.("button, a, summary")) return;
  for (let i = layers.length - 1; i >= 0; i -= 1) {
    const act = layers[i].current[event.key];
    if (act && act(event) !== false) {
      event.preventDefault();
      return;
    }
  }
});

/** Keys and what they do while a part is on the page; `false` leaves the key to others. */
export function useKeys(keys) {
  const layer = useRef(keys);
  layer.current = keys;
  // Before anything is seen: a key may be pressed as soon as it is.
  useLayoutEffect(() => {
    layers.push(layer);
    return () => layers.splice(layers.indexOf(layer), 1);
  }, []);
}

/** `/` puts the cursor into the view's filter. */
export function useFilterKey(input) {
  useKeys({
    "/": () => {
      input.current?.focus();
      input.current?.select();
      return Boolean(input.current);
    },
  });
}
