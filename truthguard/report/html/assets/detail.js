// What an open row shows. With `paired` the baseline stands beside.

const KINDS = {
  yes: "yes", no: "no", grade: "grade", a: "A", b: "B", tie: "tie", unsure: "unsure", unparsed: "no verdict found",
  refusal: "refused", length: "cut off", content_filter: "filtered", no_content: "no text", empty: "empty",
  failed: "no reply",
};

function detail(item, paired) {
  return [
    make("p", { class: "small" }, make("span", { class: "mono", text: item.id, dir: "auto" }),
      item.category ? make("span", { text: ` · ${item.category}`, dir: "auto" }) : null),
    item.said ? make("p", { class: "text", text: item.said, dir: "auto" }) : null,
    ...answers(item),
    ...choices(item, paired),
    ...judgements(item),
    ...values(item, paired),
  ].filter(Boolean);
}

function quote(text) {
  return make("p", { class: "text quote", text, dir: "auto" });
}

function beside(left, right) {
  return make("div", { class: "pair" }, ...[left, right].map((part) => make("div", {}, ...part)));
}

function heading(text) {
  return make("h3", { text });
}

function answers(item) {
  if (item.answer === undefined && item.answer_before === undefined) return [];
  const now = [heading("Answer"), quote(item.answer === undefined ? "none" : item.answer || "(empty)")];
  if (item.answer_before === undefined) return now;
  return [beside(now, [heading("Answer in the baseline"), quote(item.answer_before || "(empty)")])];
}

function choices(item, paired) {
  if (!item.choices) return [];
  const logs = item.choices.map((choice) => (typeof choice[3] === "number" ? choice[3] : -Infinity));
  const most = Math.max(...logs);
  const shares = logs.map((log) => Math.exp(log - most));
  const total = shares.reduce((sum, share) => sum + share, 0);
  const has = (column) => item.choices.some((choice) => choice[column] !== null);
  const probability = (choice, place) => {
    if (!(total > 0) || choice[3] === null) return NONE;
    return [percent(shares[place] / total), bar(shares[place] / total, choice[1])];
  };
  const columns = [
    { name: "Choice", text: true, of: (choice) => choice[0] },
    { name: "Is", text: true, of: (choice) => (choice[1] ? "true" : "false") },
    has(3) && { name: "Log-likelihood", of: (choice) => number(choice[3], 3) },
    paired && has(6) && { name: "in the baseline", of: (choice) => number(choice[6], 3) },
    has(3) && { name: "Probability among these", of: probability },
    has(4) && { name: "Tokens", of: (choice) => number(choice[4]) },
    has(5) && { name: "P(yes)", of: (choice) => number(choice[5]) },
    paired && has(7) && { name: "in the baseline", label: "P(yes) in the baseline", of: (choice) => number(choice[7]) },
  ];
  return [heading("Choices"), table("Choices", "choices", columns, item.choices)];
}

function bar(share, isTrue) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("class", "mass");
  picture.setAttribute("viewBox", "0 0 100 10");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  const filled = document.createElementNS(space, "rect");
  filled.setAttribute("class", isTrue ? "true" : "false");
  filled.setAttribute("width", String(100 * share));
  filled.setAttribute("height", "10");
  picture.append(filled);
  return picture;
}

function judgements(item) {
  const now = item.samples || [];
  const before = item.samples_before || [];
  if (!now.length && !before.length) return [];
  const list = (title, samples) => [heading(`${title}: ${tally(samples)}`), ...samples.map(sample)];
  if (!before.length) return list("The judge", now);
  return [beside(list("The judge", now), list("The judge in the baseline", before))];
}

function tally(samples) {
  const counts = new Map();
  for (const [question, , , kind, verdict] of samples) {
    const word = kind === "grade" ? `grade ${verdict}` : KINDS[kind];
    const key = new Set(samples.map((each) => each[0])).size > 1 ? `${question} ${word}` : word;
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  return [...counts].map(([word, count]) => `${count} × ${word}`).join(", ") || "no samples";
}

function sample([question, index, attempt, kind, verdict, explanation, finish, missing]) {
  const word = kind === "grade" ? `grade ${verdict}` : KINDS[kind];
  const parts = [question, `sample ${index + 1}`];
  if (attempt > 0) parts.push(`attempt ${attempt + 1}`);
  if (finish && finish !== "stop") parts.push(`ended: ${finish}`);
  return make("div", { class: "sample" },
    make("p", { class: "small" }, make("span", { class: `badge ${kind === "no" ? "fail" : kind === "yes" ? "pass" : ""}`, text: word }),
      make("span", { text: ` ${parts.join(" · ")}`, dir: "auto" })),
    explanation ? quote(explanation) : null,
    missing ? make("p", { class: "text small", text: missing, dir: "auto" }) : null);
}

function values(item, paired) {
  const rows = item.values || [];
  const columns = [
    { name: "Metric", text: true, of: (row) => row[0] },
    { name: "Value", of: (row) => number(row[1]) },
    paired && { name: "In the baseline", of: (row) => number(row[2]) },
  ];
  return [rows.length ? heading("Values") : null, rows.length ? table("Values", "values", columns, rows) : null,
    ...(item.notes || []).map((note) => make("p", { class: "text small", text: note, dir: "auto" }))];
}
