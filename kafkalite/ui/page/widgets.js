// Small parts that all views share: buttons, badges, tabs, notes, questions.

import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";

export function Button({ kind = "", busy = false, children, ...rest }) {
  return html`<button type="button" class=${kind} disabled=${busy} ...${rest}>${children}</button>`;
}

export function Badge({ tone = "", title, children }) {
  return html`<span class="badge ${tone}" title=${title}>${children}</span>`;
}

/** A head with what the view is about, and what can be done to it. */
export function Head({ title, badge, up, children }) {
  return html`<header class="head">
    <h1>${up && html`<a class="up" href=${up.href}>${up.title}</a><span class="slash">/</span>`}
      <span class="name">${title}</span></h1>
    ${badge}<div class="actions">${children}</div>
  </header>`;
}

/** Facts in a row: [[name, value], ...]. */
export function Facts({ facts }) {
  return html`<dl class="facts">
    ${facts.filter(Boolean).map(([name, value, title]) => html`<div title=${title}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** Tabs that are links, as each has a URL. */
export function Tabs({ label, tabs, current }) {
  return html`<nav class="tabs" aria-label=${label}>
    ${tabs.map(([key, title, href]) => html`<a href=${href} aria-current=${key === current ? "page" : undefined}>${title}</a>`)}
  </nav>`;
}

/** One of a few: a group of radio buttons that looks like one control. */
export function Choice({ label, options, value, onChange }) {
  return html`<div class="choice" role="radiogroup" aria-label=${label}>
    ${options.map(([key, title]) => html`<button type="button" role="radio" aria-checked=${key === value}
      class=${key === value ? "on" : ""} onClick=${() => onChange(key)}>${title}</button>`)}
  </div>`;
}

export function Field({ label, children, wide = false }) {
  return html`<label class="field ${wide ? "wide" : ""}"><span>${label}</span>${children}</label>`;
}

/** An input that keeps what is being typed when the view is drawn again. A new `text` replaces it. */
export function Typed({ text, ...rest }) {
  const input = useRef(null);
  useEffect(() => {
    input.current.value = text;
  }, [text]);
  return html`<input ref=${input} ...${rest} />`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><strong>${title}</strong><p>${children}</p></div>`;
}

export function Problem({ error }) {
  if (!error) return null;
  return html`<p class="problem" role="alert">${error.message}${error.hint && html` <span class="hint">${error.hint}</span>`}</p>`;
}

/** Until the first answer is there: nothing that flickers. */
export function Waiting({ error }) {
  return error ? html`<${Problem} error=${error} />` : html`<p class="waiting" aria-busy="true">…</p>`;
}

// Notes at the foot of the page, read aloud by screen readers. What is wrong with a form is said in it.

const places = [];

export function tell(text, tone = "ok") {
  places.at(tone === "bad" ? -1 : 0)?.({ text, tone, at: Date.now() });
}

function useNote() {
  const [note, setNote] = useState(null);
  useEffect(() => {
    places.push(setNote);
    return () => places.splice(places.indexOf(setNote), 1);
  }, []);
  return [note, setNote];
}

export function Notes() {
  const [note, setNote] = useNote();
  useEffect(() => {
    if (!note) return undefined;
    const timer = setTimeout(() => setNote(null), note.tone === "bad" ? 10_000 : 4000);
    return () => clearTimeout(timer);
  }, [note]);
  return html`<div class="notes" role="status">
    ${note && html`<p class="note ${note.tone}">${note.text}</p>`}
  </div>`;
}

/** Do something that may be refused; says what came of it. Gives what it gave, or undefined. */
export async function attempt(action, done) {
  try {
    const answer = await action();
    if (done) tell(typeof done === "function" ? done(answer) : done);
    return answer;
  } catch (error) {
    if (error.name !== "AbortError") tell(error.hint ? `${error.message} (${error.hint})` : error.message, "bad");
    return undefined;
  }
}

/** A dialog with a form; `onSubmit` may give a promise of false, which keeps it open. */
export function Dialog({ title, submit, danger = false, onSubmit, onClose, children }) {
  const dialog = useRef(null);
  const isOver = useRef(false);
  const [wrong, setWrong] = useNote();
  useEffect(() => {
    dialog.current.showModal();
    dialog.current.querySelector("[autofocus], input, select, textarea")?.focus();
  }, []);
  // The browser tells of the end later: a key pressed before would find a dialog that is closed and yet here.
  const close = () => {
    if (isOver.current) return;
    isOver.current = true;
    dialog.current?.close(); // gives the focus back
    onClose();
  };
  const closeByKey = (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    close();
  };
  const send = async (event) => {
    event.preventDefault();
    setWrong(null);
    const fields = Object.fromEntries(new FormData(event.target));
    if ((await onSubmit(fields)) !== false) close();
  };
  return html`<dialog ref=${dialog} class="dialog" aria-label=${title} onClose=${close} onKeyDown=${closeByKey}>
    <form onSubmit=${send}>
      <h2>${title}</h2>
      <div class="body">${children}${wrong && html`<p class="problem" role="alert">${wrong.text}</p>`}</div>
      <footer>
        <${Button} onClick=${close}>${submit ? "Cancel" : "Close"}<//>
        ${submit && html`<button class=${danger ? "danger primary" : "primary"}>${submit}</button>`}
      </footer>
    </form>
  </dialog>`;
}

/** A button that asks before it does something that cannot be undone. */
export function Asking({ label, title, text, submit, onSubmit, danger = true, children }) {
  const [open, setOpen] = useState(false);
  return html`<${Button} kind=${danger ? "danger" : ""} onClick=${() => setOpen(true)}>${label}<//>
    ${open && html`<${Dialog} title=${title} submit=${submit || label} danger=${danger}
      onSubmit=${onSubmit} onClose=${() => setOpen(false)}>${text && html`<p>${text}</p>`}${children}<//>`}`;
}

export function Copy({ text, label = "Copy" }) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    tell("Copied");
  };
  return html`<button type="button" class="quiet" onClick=${copy}>${label}</button>`;
}
