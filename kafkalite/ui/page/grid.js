// A table of any length: rows of one height, and only those in sight are on the page.

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { useKeys } from "./keys.js";

export const ROW_PX = 28;
const HEAD_PX = 30;
const BEYOND = 8;
const PHONE = matchMedia("(max-width: 760px)");

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
}

function useSorted(rows, columns, initial) {
  const [sort, setSort] = useState(initial || null);
  const sorted = useMemo(() => {
    const column = sort && columns.find((each) => each.key === sort.key);
    if (!column) return rows;
    const signed = sort.down ? -1 : 1;
    return [...rows].sort((a, b) => signed * compare(column.sort(a), column.sort(b)));
  }, [rows, sort, columns]);
  const turn = (key) => setSort((old) => ({ key, down: old?.key === key ? !old.down : false }));
  return [sorted, sort, turn];
}

function usePhone() {
  const [isPhone, setPhone] = useState(PHONE.matches);
  useEffect(() => {
    const changed = () => setPhone(PHONE.matches);
    PHONE.addEventListener("change", changed);
    return () => PHONE.removeEventListener("change", changed);
  }, []);
  return isPhone;
}

function HeadCell({ column, sort, onTurn }) {
  const isSorted = sort?.key === column.key;
  const order = isSorted ? (sort.down ? "descending" : "ascending") : undefined;
  return html`<div role="columnheader" class="cell ${column.align || ""}" aria-sort=${order}>
    ${column.sort
      ? html`<button type="button" class="sort" tabindex="-1" onClick=${() => onTurn(column.key)}>
          ${column.title}<span aria-hidden="true">${isSorted ? (sort.down ? " ↓" : " ↑") : ""}</span></button>`
      : column.title}
  </div>`;
}

/**
 * columns: [{ key, title, width, cell(row), align?, sort?(row), wide? }]. `onOpen(row)` is Enter or a
 * double click, `onSelect(row)` any way to choose one. `fill`: as high as there is room. `narrow`, and
 * on a phone: without the columns that are `wide`.
 * `stick`: stay at the end while rows are added there.
 */
export function Grid({
  label, columns: all, narrow = false, rows, keyOf, selected, onSelect, onOpen, fill = false, stick = false,
  sorted: initial, most = 14, main = true, tone, onEnd,
}) {
  const id = useId();
  const isNarrow = usePhone() || narrow;
  const columns = useMemo(() => (isNarrow ? all.filter((column) => !column.wide) : all), [all, isNarrow]);
  const box = useRef(null);
  const atEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 400 });
  const [shown, sort, turn] = useSorted(rows, columns, initial);
  const index = selected === undefined ? -1 : shown.findIndex((row) => keyOf(row) === selected);

  useEffect(() => {
    const seen = new ResizeObserver(([entry]) => setView((old) => ({ ...old, height: entry.contentRect.height })));
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);

  useLayoutEffect(() => {
    if (stick && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown.length, shown.at(-1), stick]);

  // One that was chosen elsewhere is brought into sight.
  useLayoutEffect(() => {
    const top = index * ROW_PX;
    const { scrollTop, clientHeight } = box.current;
    if (index >= 0 && (top < scrollTop || top + ROW_PX > scrollTop + clientHeight - HEAD_PX)) box.current.scrollTop = ROW_PX * Math.floor((top - clientHeight / 3) / ROW_PX);
  }, [selected, index < 0]);

  const scrolled = () => {
    const { scrollTop, clientHeight, scrollHeight } = box.current;
    atEnd.current = scrollTop + clientHeight >= scrollHeight - ROW_PX;
    setView((old) => ({ ...old, top: scrollTop }));
    if (onEnd && atEnd.current) onEnd();
  };

  const choose = (wanted) => {
    if (!shown.length) return false;
    const next = Math.max(0, Math.min(shown.length - 1, wanted));
    const top = next * ROW_PX;
    const room = box.current.clientHeight - HEAD_PX;
    if (top < box.current.scrollTop) box.current.scrollTop = top;
    else if (top + ROW_PX > box.current.scrollTop + room) box.current.scrollTop = top + ROW_PX - room;
    onSelect?.(shown[next]);
    return true;
  };
  const page = Math.max(1, Math.floor(view.height / ROW_PX) - 2);
  const keys = {
    j: () => choose(index + 1),
    k: () => choose(index < 0 ? 0 : index - 1),
    ArrowDown: () => choose(index + 1),
    ArrowUp: () => choose(index < 0 ? 0 : index - 1),
    PageDown: () => choose(index + page),
    PageUp: () => choose(index - page),
    Home: () => choose(0),
    End: () => choose(shown.length - 1),
    Enter: () => (onOpen && index >= 0 ? onOpen(shown[index]) : false),
  };
  const pressed = (event) => {
    if (event.target === box.current && !main && keys[event.key]?.() !== false && keys[event.key]) event.preventDefault();
  };
  useKeys(main && onSelect ? keys : {});
  // What is cut off can be read where the mouse rests.
  const rested = (event) => {
    const cell = event.target.closest(".cell");
    if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? cell.innerText : "";
  };

  const first = Math.max(0, Math.floor(view.top / ROW_PX) - BEYOND);
  const end = Math.min(shown.length, Math.ceil((view.top + view.height) / ROW_PX) + BEYOND);
  const template = columns.map((column) => column.width || "minmax(0, 1fr)").join(" ");
  const height = `${HEAD_PX + Math.max(1, fill ? shown.length : Math.min(shown.length, most)) * ROW_PX + 2}px`;
  const row = (each, number) => html`<div role="row" key=${keyOf(each)} id=${`${id}-${number}`}
    class="row ${number === index ? "on" : ""} ${tone ? tone(each) : ""}" aria-rowindex=${number + 2}
    aria-selected=${onSelect ? number === index : undefined}
    style=${{ top: `${number * ROW_PX}px`, gridTemplateColumns: template }}
    onClick=${() => onSelect?.(each)} onDblClick=${() => onOpen?.(each)}>
    ${columns.map((column) => html`<div role="gridcell" class="cell ${column.align || ""}">${column.cell(each)}</div>`)}
  </div>`;
  return html`<div class="grid ${fill ? "fill" : ""}" ref=${box} role="grid" tabindex="0" aria-label=${label}
    aria-rowcount=${shown.length + 1} aria-activedescendant=${index >= first && index < end ? `${id}-${index}` : undefined}
    style=${{ height, minHeight: fill ? `min(120px, ${height})` : undefined }} onScroll=${scrolled} onKeyDown=${pressed} onMouseOver=${rested}>
    <div role="rowgroup" class="grid-head"><div role="row" class="row head-row" aria-rowindex="1" style=${{ gridTemplateColumns: template }}>
      ${columns.map((column) => html`<${HeadCell} column=${column} sort=${sort} onTurn=${turn} />`)}
    </div></div>
    <div role="rowgroup" class="grid-body" style=${{ height: `${shown.length * ROW_PX}px` }}>
      ${shown.slice(first, end).map((each, i) => row(each, first + i))}
    </div>
  </div>`;
}
