// The form: a question in, an answer out; the address carries the question, so that a link opens with it.

const facts = JSON.parse(document.getElementById("facts").textContent);

const planner = (() => {
  const field = (name) => document.getElementById(`ask-${name}`);
  const reply = (name) => document.getElementById(`reply-${name}`);
  const asked = { series: "series", want: "kind", target: "target", assurance: "assurance" };
  Object.assign(asked, { "core-hour": "core-hour", "replica-hour": "replica-hour" });
  const MARK = "ask?";
  let ownTarget = false;
  let waiting = null;

  function seriesNamed(name) {
    return facts.planner.find((each) => each.name === name) ?? null;
  }

  function targetWords(kind, unit) {
    return {
      throughput: `${unit} a second`,
      latency: unit === "items" ? "seconds a step may take" : "seconds a run may take",
      efficiency: "share of cores used, 0 to 1",
      budget: "cost an hour",
    }[kind];
  }

  // A target that the series can just about reach: what a reader would ask first.
  function usualTarget(series, kind, price) {
    if (kind === "efficiency") return 0.5;
    const cores = series.recommended ?? series.counts[Math.floor(series.counts.length / 2)];
    if (kind === "budget") return Number(hourly(price, cores).toPrecision(3));
    const rate = desk(series, { kind, target: 1, price }).rateOn(cores).value * 0.7;
    return Number((kind === "latency" ? series.work / rate : rate).toPrecision(2));
  }

  function number(name) {
    return field(name).value.trim() === "" ? NaN : Number(field(name).value);
  }

  function questionAsked() {
    const price = { core_hour: number("core-hour"), replica_hour: number("replica-hour") };
    const kind = field("kind").value;
    return { kind, target: kind === "cheapest" ? 1 : number("target"), assurance: number("assurance"), price };
  }

  // What makes no sense as a question, as the command would say it.
  function complaint({ kind, target, assurance, price }) {
    if (!(assurance > 0 && assurance < 1)) return "How sure to be is a number between 0 and 1, and neither; try 0.95.";
    if (!(price.core_hour > 0 && price.core_hour < Infinity && price.replica_hour >= 0 && price.replica_hour < Infinity)) {
      return "A core-hour must cost more than nothing and a replica-hour not less; give prices of 0 or above.";
    }
    if (!(target > 0 && target < Infinity) || (kind === "efficiency" && target > 1)) {
      return `The target must be a number ${kind === "efficiency" ? "between 0 and 1" : "above 0"}.`;
    }
    return null;
  }

  function show() {
    const series = seriesNamed(field("series").value);
    const kind = field("kind").value;
    field("target-field").hidden = kind === "cheapest";
    field("target-label").textContent = targetWords(kind, series.unit) ?? "";
    if (!ownTarget && !series.refusal && kind !== "cheapest") {
      field("target").value = usualTarget(series, kind, questionAsked().price);
    }
    const question = questionAsked();
    const wrong = series.refusal ? null : complaint(question);
    if (wrong) render(series, question, null, wrong);
    else render(series, question, answer(series, question), null);
  }

  function render(series, question, found, wrong) {
    const offer = found && found.offer;
    const none = found && found.fleet ? "no single size" : "no size";
    reply("size").textContent = offer ? sizeWords(offer, question) : none;
    reply("mark").textContent = markWords(offer);
    reply("mark").classList.toggle("unsure", !offer || offer.extrapolated);
    reply("sentence").textContent = wrong ?? found.sentence;
    reply("facts").replaceChildren(...(found ? factPairs(series, question, found).map(pair) : []));
    reply("curve").replaceChildren(...(found && !series.refusal ? [curve(series, question, found, reply("curve").clientWidth)] : []));
    reply("offers").replaceChildren(...(found ? offerRows(series, found) : []));
  }

  function sizeWords(offer, question) {
    const most = question.kind === "efficiency" ? "at most " : "";
    return most + counted(offer.cores, "core") + (offer.threads > 1 ? ` × ${offer.threads} threads` : "");
  }

  function markWords(offer) {
    if (!offer) return "";
    const sure = offer.assurance === null ? [] : [`${sureness(offer.assurance)} sure`];
    return [...sure, ...(offer.extrapolated ? ["extrapolated"] : [])].join(", ");
  }

  function factPairs(series, question, { offer, needed, fleet }) {
    const told = [];
    if (offer) {
      told.push(["throughput", `${spreadWords(offer.rate)} ${series.unit}/s`]);
      told.push(["efficiency", spreadWords(offer.efficiency, percent)]);
      told.push(["cost an hour", figure(hourly(question.price, offer.cores))]);
      told.push([`cost per million ${series.unit}`, figure(offer.cost_per_million)]);
      const measured = `the ${general(series.most_measured)} cores measured`;
      told.push(["reach", offer.extrapolated ? `extrapolated beyond ${measured}` : `within ${measured}`]);
    }
    if (needed.value !== null || needed.low !== null) {
      told.push(["the law alone asks for", `${spreadWords(needed, figure, `beyond ${figure(series.farthest)}`)} cores`]);
    }
    if (fleet) {
      told.push(["cheapest replicas", `${fleet.replicas} × ${counted(fleet.cores, "core")}`]);
      told.push(["their cost an hour", `${figure(fleet.hourly_cost)}, ${sureness(fleet.assurance)} sure`]);
    }
    return told;
  }

  function pair([name, value]) {
    const [both, term, said] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
    term.textContent = name;
    said.textContent = value;
    both.append(term, said);
    return both;
  }

  function offerRows(series, found) {
    const offers = [...found.neighbours, ...(found.offer ? [found.offer] : [])];
    if (!offers.length) return [];
    offers.sort((one, other) => one.cores - other.cores || one.threads - other.threads);
    const headers = ["cores", "sure", `${series.unit}/s`, "efficiency", "CPU-h / million", "cost / million"];
    const [head, body] = [document.createElement("thead"), document.createElement("tbody")];
    head.append(row(headers, "th"));
    for (const offer of offers) {
      const line = row(offerCells(offer), "td");
      line.classList.toggle("given", offer === found.offer);
      body.append(line);
    }
    return [head, body];
  }

  function offerCells(offer) {
    return [
      offer.threads === 1 ? String(offer.cores) : `${offer.cores}×${offer.threads}`,
      offer.assurance === null ? "-" : `${fixed(100 * offer.assurance, 1)} %`,
      spreadWords(offer.rate),
      spreadWords(offer.efficiency, percent),
      figure(offer.cpu_hours_per_million),
      figure(offer.cost_per_million),
    ];
  }

  function row(texts, tag) {
    const line = document.createElement("tr");
    for (const text of texts) {
      const cell = document.createElement(tag);
      if (tag === "th") cell.scope = "col";
      cell.className = "right";
      cell.textContent = text;
      line.append(cell);
    }
    return line;
  }

  function toAddress() {
    const told = new URLSearchParams();
    for (const [name, key] of Object.entries(asked)) {
      if (name !== "target" || field("kind").value !== "cheapest") told.set(name, field(key).value);
    }
    history.replaceState(null, "", `#${MARK}${told}`);
  }

  // The question in the address, if there is one; whether there was.
  function fromAddress() {
    const said = location.hash.slice(1);
    if (!said.startsWith(MARK)) return false;
    const told = new URLSearchParams(said.slice(MARK.length));
    for (const [name, key] of Object.entries(asked)) {
      const value = told.get(name);
      const choice = field(key).options;
      if (value !== null && (!choice || Array.from(choice).some((each) => each.value === value))) field(key).value = value;
    }
    ownTarget = told.has("target");
    return true;
  }

  function changed(event) {
    if (event.target === field("target")) ownTarget = true;
    if (event.target === field("kind") || event.target === field("series")) ownTarget = false;
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      show();
      toAddress();
    }, 80);
  }

  function begin() {
    for (const series of facts.planner) {
      const option = document.createElement("option");
      option.value = series.name;
      option.textContent = series.label;
      field("series").append(option);
    }
    const answerable = facts.planner.find((each) => !each.refusal);
    if (answerable) field("series").value = answerable.name;
    document.getElementById("desk").hidden = false;
    document.getElementById("ask-hint").hidden = false;
    const form = document.getElementById("ask");
    form.addEventListener("input", changed);
    form.addEventListener("change", changed);
    form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", () => fromAddress() && show());
    if (fromAddress()) document.getElementById("planner").scrollIntoView();
    show();
  }

  if (facts.planner.length) begin();
  return { seriesNamed };
})();

// For whoever opens the console: the facts of this page, and answers as `scaling capacity --json` gives them.
window.scaling = {
  facts,
  answer: (name, question) => answer(planner.seriesNamed(name), question),
  words: { fixed, general, figure, percent, duration },
  normal,
};
