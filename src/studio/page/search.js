// The field that finds nodes by words of their names, kinds and nodes of the model.
"use strict";

{
  const { byId, make } = Studio;
  const { scene } = Studio.graph;
  const search = byId("search"),
    results = byId("results");
  let hits = [],
    hit = 0;

  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = [];
    if (words.length && scene.graph)
      scene.graph.nodes.forEach((node, n) => {
        if (node.kind === "constant") return;
        const all = `${node.id} ${node.kind} ${node.operators.join(" ")}`.toLowerCase();
        if (words.every((word) => all.includes(word))) hits.push(n);
      });
    hit = 0;
    showHits();
    Studio.graph.mark(hits.slice(0, 500).map((n) => scene.graph.nodes[n].id));
  }

  function showHits() {
    const shown = hits.slice(0, 60);
    results.replaceChildren(
      ...shown.map((n, i) =>
        make("li", { role: "option", id: `hit-${i}`, "aria-selected": String(i === hit), onmousedown: (
            event) => { event.preventDefault();
              hit = i;
              take(); } },
          make("small", {}, scene.graph.nodes[n].kind), scene.graph.nodes[n].id)),
    );
    if (search.value && !hits.length) results.append(make("li", { role: "option", "aria-disabled": "true" },
      "no node has these words"));
    if (hits.length > shown.length) results.append(make("li", { role: "option", "aria-disabled": "true" },
      `and ${hits.length - shown.length} more`));
    results.hidden = !search.value;
    search.setAttribute("aria-expanded", String(!results.hidden));
    if (shown.length) search.setAttribute("aria-activedescendant", `hit-${hit}`);
    else search.removeAttribute("aria-activedescendant");
    const active = byId(`hit-${hit}`);
    if (active) active.scrollIntoView({ block: "nearest" });
  }

  function take() {
    if (hits[hit] === undefined) return;
    results.hidden = true;
    search.setAttribute("aria-expanded", "false");
    Studio.graph.reveal(hits[hit]);
    Studio.graph.focus();
  }
  search.addEventListener("input", find);
  search.addEventListener("focus", () => search.value && find());
  search.addEventListener("blur", () => { results.hidden = true;
    search.setAttribute("aria-expanded", "false");
    Studio.graph.mark([]); });
  search.addEventListener("keydown", (event) => {
    const most = Math.min(hits.length, 60);
    if (event.key === "ArrowDown" && most) hit = (hit + 1) % most;
    else if (event.key === "ArrowUp" && most) hit = (hit + most - 1) % most;
    else if (event.key === "Enter") return take();
    else if (event.key === "Escape") { search.value = "";
      find(); return Studio.graph.focus(); } else return;
    event.preventDefault();
    showHits();
  });
}
