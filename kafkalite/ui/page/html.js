// Templates without a build step: html`<p>${text}</p>` gives what preact renders.

import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
