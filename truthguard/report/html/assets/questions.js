// The table of questions: search, filters, order, and rows that open.

const STEP = 50;
const SORTS = [
  ["file", "order of the file"],
  ["margin", "margin, lowest first"],
  ["margin-", "margin, highest first"],
  ["near", "margin, nearest to the bar first"],
  ["value", "value, lowest first"],
  ["value-", "value, highest first"],
  ["change", "change, the worst first"],
];
const byId = (id) => document.getElementById(id);

async function unpack() {
  const packed = atob(byId("data").content.textContent);
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// What a measure says of an item, by name.
function seenOf(item, place) {
  const seen = item.seen[place];
  if (!seen) return null;
  const [value, verdict, margin, before, change] = seen;
  return { value, verdict, margin, before, change };
}

function difference(seen) {
  return typeof seen.value === "number" && typeof seen.before === "number" ? seen.value - seen.before : null;
}

function haystack(item) {
  const texts = [item.id, item.category, item.question, item.answer, item.answer_before];
  for (const choice of item.choices || []) texts.push(choice[0]);
  for (const sample of item.samples || []) texts.push(sample[5]);
  return texts.filter(Boolean).join("\n").toLowerCase();
}

// The state, and what follows from it

const state = { run: 0, measure: 0, search: "", category: "", verdict: "", change: "", sort: "file", shown: STEP };
let runs = [];
let found = [];

function select() {
  const run = runs[state.run];
  const needle = state.search.trim().toLowerCase();
  const rows = [];
  run.items.forEach((item, place) => {
    if (state.category && item.category !== state.category) return;
    if (needle && !run.texts[place].includes(needle)) return;
    const seen = run.measures.length ? seenOf(item, state.measure) : null;
    if (state.verdict && (!seen || seen.verdict !== state.verdict)) return;
    if (state.change && !matches(seen, state.change)) return;
    rows.push({ item, seen, place });
  });
  found = sorted(rows);
}

function matches(seen, wanted) {
  if (!seen || !seen.change) return false;
  return wanted === "changed" ? seen.change !== "same" : seen.change === wanted;
}

function sorted(rows) {
  const descending = state.sort.endsWith("-");
  const key = state.sort.replace("-", "");
  if (key === "file") return rows;
  const rank = { worse: 0, "only in the baseline": 1, better: 2, "only here": 3, same: 4 };
  const keys = {
    margin: (seen) => seen.margin,
    near: (seen) => (seen.margin === null ? null : Math.abs(seen.margin)),
    value: (seen) => seen.value,
    change: (seen) => (seen.change ? rank[seen.change] * 1e6 - Math.abs(difference(seen) || 0) : null),
  };
  const of = (row) => (row.seen ? keys[key](row.seen) : null);
  // What has no number stands last either way; equal ones keep the order of the file.
  return rows.sort((one, other) => {
    const [a, b] = [of(one), of(other)];
    if (a === null || b === null) return (a === null) - (b === null) || one.place - other.place;
    return (descending ? b - a : a - b) || one.place - other.place;
  });
}

// Rows

function row({ item, seen, place }) {
  const id = `item-${state.run}-${place}`;
  const button = make("button", { type: "button", class: "open", "aria-expanded": "false" });
  button.append(make("span", { text: item.question || item.id, dir: "auto" }));
  const title = make("th", { scope: "row", role: "rowheader" }, button);
  const line = make(
    "tr",
    { class: "item", role: "row", id },
    title,
    cell({ class: "small", text: item.category, dir: "auto" }),
    cell({ class: "num", "data-label": "value", text: seen ? number(seen.value) : NONE }),
    cell({ class: "num", "data-label": "margin", text: seen ? signed(seen.margin) : NONE }),
    cell({}, make("span", { class: `badge ${seen ? seen.verdict : ""}`, text: seen ? seen.verdict : "not asked" })),
    cell({ class: "paired", "data-label": "since baseline" }, change(seen)),
  );
  line.addEventListener("click", (event) => {
    if (!event.target.closest("button") && String(getSelection()) === "") toggle(line, item);
  });
  button.addEventListener("click", () => toggle(line, item));
  return line;
}

function change(seen) {
  if (!seen || !seen.change) return make("span", { class: "small", text: NONE });
  const moved = difference(seen);
  if (seen.change === "same") return make("span", { class: "small", text: "same" });
  if (seen.change.startsWith("only")) return make("span", { class: "small", text: seen.change });
  const share = runs[state.run].measures[state.measure].share;
  const how = share || moved === null ? `${number(seen.before)} → ${number(seen.value)}` : signed(moved);
  return make("span", { class: `num ${seen.change}`, text: `${seen.change} ${how}` });
}

function toggle(line, item) {
  const button = line.querySelector(".open");
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) {
    line.nextElementSibling.remove();
    button.removeAttribute("aria-controls");
    return;
  }
  const id = `${line.id}-detail`;
  const body = make("div", { class: "detail-body" }, ...detail(item, runs[state.run].paired));
  line.after(make("tr", { class: "detail", role: "row", id }, cell({ colspan: 6 }, body)));
  button.setAttribute("aria-controls", id);
}

// Controls

function options(element, entries, chosen) {
  element.replaceChildren(...entries.map(([value, text]) => make("option", { value, text, dir: "auto" })));
  element.value = entries.some(([value]) => value === chosen) ? chosen : entries[0][0];
  element.parentElement.hidden = entries.length < 2;
  return element.value;
}

function present(items, of) {
  const counts = new Map();
  for (const item of items) {
    const value = of(item);
    if (value) counts.set(value, (counts.get(value) || 0) + 1);
  }
  return [...counts];
}

function choose() {
  const run = runs[state.run];
  const measure = run.measures[state.measure];
  const entries = (pairs) => [["", "all"], ...pairs.map(([value, count]) => [value, `${value} (${count})`])];
  const names = present(run.items, (item) => item.category).sort(([one], [other]) => (one < other ? -1 : 1));
  state.category = options(byId("category"), entries(names), state.category);
  const seen = (item) => (measure ? seenOf(item, state.measure) : null);
  state.verdict = options(byId("verdict"), entries(present(run.items, (item) => seen(item)?.verdict)), state.verdict);
  const changes = present(run.items, (item) => seen(item)?.change);
  const moved = changes.reduce((sum, [name, count]) => sum + (name === "same" ? 0 : count), 0);
  const all = changes.length ? [["", "all"], ["changed", `changed (${moved})`]] : [["", "all"]];
  const each = changes.map(([value, count]) => [value, `${value} (${count})`]);
  state.change = options(byId("change"), all.concat(each), state.change);
  const sorts = run.paired ? SORTS : SORTS.slice(0, -1);
  state.sort = options(byId("sort"), sorts, state.sort);
  byId("table").classList.toggle("unpaired", !run.paired);
}

function draw() {
  const body = byId("items");
  body.replaceChildren(...found.slice(0, state.shown).map(row));
  after();
}

function after() {
  const run = runs[state.run];
  const shown = Math.min(state.shown, found.length);
  const total = run.items.length;
  const of = found.length === total ? `${total}` : `${found.length} of ${total}`;
  byId("count").textContent = found.length ? `${of} questions, ${shown} shown` : "No question is left: clear a filter";
  const rest = found.length - shown;
  byId("more").hidden = rest === 0;
  byId("more").textContent = `Show ${Math.min(rest, STEP)} more`;
  byId("clear").hidden = !(state.search || state.category || state.verdict || state.change);
}

function refresh() {
  state.shown = STEP;
  select();
  draw();
}

function open(place) {
  Object.assign(state, { run: place, measure: 0, category: "", verdict: "", change: "" });
  const entries = runs[place].measures.map((measure, index) =>
    [String(index), measure.printed + (measure.bar === "-" ? "" : ` · ${measure.bar}`)]);
  options(byId("measure"), entries.length ? entries : [["0", "none"]], "0");
  choose();
  refresh();
}

function listen() {
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("run").addEventListener("change", (event) => open(Number(event.target.value)));
  byId("measure").addEventListener("change", (event) => {
    state.measure = Number(event.target.value);
    choose();
    refresh();
  });
  for (const name of ["category", "verdict", "change", "sort"]) {
    byId(name).addEventListener("change", (event) => {
      state[name] = event.target.value;
      refresh();
    });
  }
  byId("search").addEventListener("input", (event) => {
    state.search = event.target.value;
    refresh();
  });
  byId("clear").addEventListener("click", () => {
    for (const name of ["search", "category", "verdict", "change"]) {
      state[name] = "";
      byId(name).value = "";
    }
    refresh();
    byId("search").focus();
  });
  byId("more").addEventListener("click", () => {
    const from = state.shown;
    state.shown += STEP;
    byId("items").append(...found.slice(from, state.shown).map(row));
    after();
    byId("items").querySelectorAll(".open")[from].focus();
  });
  byId("doubts")?.addEventListener("click", doubts);
}

// The answers that a person should read: by correctness, the lowest first.
function doubts() {
  const place = runs.findIndex((run) => run.measures.some((measure) => measure.name === "correctness"));
  open(place);
  state.measure = runs[place].measures.findIndex((measure) => measure.name === "correctness");
  byId("run").value = String(place);
  byId("measure").value = String(state.measure);
  state.sort = "value";
  choose();
  refresh();
  byId("questions").scrollIntoView();
  byId("items").querySelector(".open").focus({ preventScroll: true });
}

function refuse(text) {
  for (const id of ["filters", "table"]) byId(id).hidden = true;
  byId("trouble").hidden = false;
  byId("trouble").textContent = text;
  document.documentElement.dataset.ready = runs.length ? "no" : "yes";
}

(async () => {
  try {
    runs = (await unpack()).runs;
    for (const run of runs) run.texts = run.items.map(haystack);
    if (!runs.length) {
      refuse("The record has no questions.");
      return;
    }
    options(byId("run"), runs.map((run, place) => [String(place), run.name]), "0");
    listen();
    open(0);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    refuse(typeof DecompressionStream === "undefined"
      ? "The table of questions needs a browser from 2023 or later."
      : `The table of questions cannot be shown: ${error.message}`);
  }
})();
