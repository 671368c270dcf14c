// Making elements, and writing numbers.

const NONE = "–";

// Every text of a record becomes the content of a text node: nothing in it can be markup.
function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

function cell(options, ...children) {
  return make("td", { role: "cell", ...options }, ...children);
}

// Columns with a name and a maker of the cell's content; the first one names the row. On a narrow screen the rows
// are cards in which every cell has its column's name.
function table(caption, kind, columns, rows) {
  const [first, ...others] = columns.filter(Boolean);
  const numeric = (column) => (column.text ? {} : { class: "num" });
  const head = [first, ...others].map((column) => 
    make("th", { scope: "col", role: "columnheader", text: column.name, ...numeric(column) }));
  const lines = rows.map((each, place) => make("tr", { role: "row" },
    make("th", { scope: "row", role: "rowheader", text: first.of(each, place), dir: "auto" }),
    ...others.map((column) => {
      const made = cell({ ...numeric(column), "data-label": column.label || column.name });
      made.append(...[column.of(each, place)].flat());
      return made;
    })));
  return make("div", { class: kind },
    make("table", { class: "rows", role: "table" }, make("caption", { class: "hidden", text: caption }),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...head)),
      make("tbody", { role: "rowgroup" }, ...lines)));
}

function number(value, decimals = 4) {
  if (value === null || value === undefined) return NONE;
  if (typeof value === "string") return value.replace("-", "−").replace("inf", "∞");
  if (Number.isInteger(value)) return String(value).replace("-", "−");
  return value.toFixed(decimals).replace("-", "−");
}

function signed(value, decimals = 4) {
  if (value === null || value === undefined) return NONE;
  return (value > 0 ? "+" : "") + number(value, decimals);
}

function percent(share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return `${(100 * share).toFixed(1)} %`;
}
