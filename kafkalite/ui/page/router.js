// Every view has a URL: #/CLUSTER/VIEW/NAME/TAB?option=value. The server never sees it.

import { useEffect, useState } from "preact/hooks";

/** What was escaped; an address that was typed by hand may have a % of its own. */
function plain(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function parse(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?", 2);
  const [cluster = "", view = "", ...rest] = path
    .split("/")
    .filter((part) => part !== "")
    .map(plain);
  return {
    cluster: cluster || "default",
    view: view || "overview",
    name: rest[0],
    tab: rest[1],
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

export function href(cluster, ...parts) {
  return `#/${[cluster, ...parts].map(encodeURIComponent).join("/")}`;
}

export function go(target) {
  location.hash = target;
}

/** Change options of the view in its URL, without another entry in the history. */
export function setQuery(changes) {
  const [path, search = ""] = location.hash.split("?", 2);
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "" || value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  history.replaceState(null, "", text ? `${path}?${text}` : path);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute() {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
