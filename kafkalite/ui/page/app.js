// The frame: where one is, where one can go, and the view in the middle.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { at, connectionState, keepToken, onState, takeToken } from "./api.js";
import { clock as shownTime, day, duration } from "./format.js";
import { Help } from "./help.js";
import { html } from "./html.js";
import { icons } from "./icons.js";
import { useKeys } from "./keys.js";
import { usePoll } from "./poll.js";
import { go, href, useRoute } from "./router.js";
import { Badge, Notes } from "./widgets.js";
import { Clock } from "./views/clock.js";
import { Faults } from "./views/faults.js";
import { Group } from "./views/group.js";
import { Groups } from "./views/groups.js";
import { Overview } from "./views/overview.js";
import { Requests } from "./views/requests.js";
import { Topic } from "./views/topic.js";
import { Topics } from "./views/topics.js";
import { Trace } from "./views/trace.js";
import { Transactions } from "./views/transactions.js";

const VIEWS = [
  ["overview", "Overview", Overview],
  ["topics", "Topics", Topics, Topic],
  ["groups", "Groups", Groups, Group],
  ["requests", "Requests", Requests],
  ["faults", "Faults", Faults],
  ["clock", "Clock", Clock],
  ["transactions", "Transactions", Transactions],
  ["trace", "Trace", Trace],
];

function Side({ route, counts }) {
  // On a phone the views are in a row that is longer than the screen.
  useEffect(() => document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [route.view]);
  return html`<nav class="side" aria-label="Views">
    ${VIEWS.map(([key, title]) => html`<a href=${href(route.cluster, key)} aria-current=${route.view === key ? "page" : undefined}>
      ${icons[key]}${title}${counts[key] ? html`<span class="count ${key === "faults" ? "fault" : ""}">${counts[key]}</span>` : null}
    </a>`)}
  </nav>`;
}

function Top({ route, clusters, clock, onHelp }) {
  const here = clusters?.find((each) => each.name === route.cluster);
  return html`<header class="top">
    <div class="where">
      ${clusters?.length > 1 && html`<select aria-label="Cluster" value=${route.cluster}
        onChange=${(event) => go(href(event.target.value, route.view))}>
        ${clusters.map((each) => html`<option value=${each.name}>${each.name}</option>`)}</select>`}
      <code title="bootstrap.servers">${here?.bootstrap}</code>
    </div>
    <div class="right">
      ${clock && html`<a class="time" href=${href(route.cluster, "clock")} title=${`the cluster's time, ${day(clock.now_ms)}`}>${shownTime(clock.now_ms).slice(0, 8)}</a>`}
      ${clock?.frozen && html`<${Badge} tone="accent">frozen<//>`}
      ${clock && !clock.frozen && Math.abs(clock.ahead_ms) > 500 && html`<${Badge} tone="accent">${clock.ahead_ms > 0 ? "+" : ""}${duration(clock.ahead_ms)}<//>`}
      <button type="button" class="quiet" onClick=${onHelp} title="Keys (?)">Keys</button>
    </div>
  </header>`;
}

function Door() {
  const enter = (event) => {
    event.preventDefault();
    keepToken(new FormData(event.target).get("token").trim());
  };
  return html`<main class="door panel">
    <h1>kafkalite</h1>
    <p>This page needs the token that the broker printed at its start. It is in the ready file, too, as <code>control.token</code>.</p>
    <form class="bar" onSubmit=${enter}>
      <input class="grow" name="token" aria-label="Token" placeholder="Token" autocomplete="off" spellcheck="false" autofocus />
      <button class="primary">Open</button>
    </form>
  </main>`;
}

function App() {
  const route = useRoute();
  const [state, setState] = useState(connectionState);
  const [isHelping, setHelping] = useState(false);
  useEffect(() => onState(setState), []);
  const isIn = state !== "unauthorized";
  const clusters = usePoll(isIn && "/clusters", {}, 2000);
  const clock = usePoll(isIn && at(route.cluster, "clock"));
  const faults = usePoll(isIn && at(route.cluster, "faults"));
  const places = Object.fromEntries(VIEWS.map(([key], i) => [String(i + 1), () => go(href(route.cluster, key))]));
  useKeys({ "?": () => setHelping(true), ...places });
  const entry = VIEWS.find(([key]) => key === route.view) || VIEWS[0];
  useEffect(() => {
    document.title = [route.name, entry[1], "kafkalite"].filter(Boolean).join(" · ");
  }, [route.name, entry]);
  if (!isIn) return html`<${Door} /><${Notes} />`;
  const here = clusters.data?.find((each) => each.name === route.cluster);
  const View = (route.name !== undefined && entry[3]) || entry[2];
  const counts = { topics: here?.topics, groups: here?.groups, faults: faults.data?.length };
  return html`<div class="frame">
    <a class="brand" href=${href(route.cluster, "overview")}><img src="icon.svg" alt="" />kafkalite</a>
    <${Top} route=${route} clusters=${clusters.data} clock=${clock.data} onHelp=${() => setHelping(true)} />
    <${Side} route=${route} counts=${counts} />
    <main class="main" id="main">
      ${state === "lost" && html`<p class="lost" role="alert">The broker does not answer. This page goes on when it is back.</p>`}
      <${View} key=${`${route.cluster}/${route.view}/${route.name}`} route=${route} cluster=${route.cluster} here=${here} clock=${clock} faults=${faults} />
    </main>
    <${Notes} />
    ${isHelping && html`<${Help} onClose=${() => setHelping(false)} />`}
  </div>`;
}

takeToken();
render(html`<${App} />`, document.getElementById("app"));
