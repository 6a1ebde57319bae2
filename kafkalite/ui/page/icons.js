// One small drawing for each view: strokes in the colour of the text.

import { html } from "./html.js";

const icon = (path) => html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${path} /></svg>`;

export const icons = {
  overview: icon("M2 2.5h5v5H2zM9 2.5h5v3H9zM9 8h5v5.5H9zM2 10h5v3.5H2z"),
  topics: icon("M2.5 4h11M2.5 8h11M2.5 12h7"),
  groups: icon("M5.5 7.5a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4zM1.8 13c0-2.2 1.6-3.6 3.7-3.6S9.2 10.8 9.2 13M10.5 3.300a2.2 2.2 0 0 1 0 4M11.5 9.600c1.7.4 2.8 1.7 2.8 3.4"),
  requests: icon("M2 4h6M5 8h8M3 12h5M10.5 4h3"),
  faults: icon("M8.8 1.8 3.5 9h4l-.8 5.200L12.5 7h-4z"),
  clock: icon("M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM8 4.800V8l2.3 1.6"),
  transactions: icon("M2.5 5.500h9.500M9.5 3l2.5 2.500L9.5 8M13.5 10.500H4M6.5 8 4 10.5 6.5 13"),
  trace: icon("M3 2.500h6.500L13 6v7.500H3zM9.5 2.500V6H13M5.5 9h5M5.5 11.300h3"),
};
