// The planner's form: a question in, an answer out. The address carries the question, so that a link opens with it.

const facts = JSON.parse(document.getElementById("facts").textContent);
const FIELDS = { series: "series", want: "goal", target: "target", assurance: "assurance", "core-hour": "core-hour", "replica-hour": "replica-hour" };
const MARK = "ask?";

function targetWords(question, unit) {
  return {
    throughput: () => `${figure(question.target)} ${unit}/s`,
    latency: () => `${unit === "items" ? "a step" : "a run"} within ${duration(question.target)}`,
    efficiency: () => `an efficiency of ${percent(question.target)} or more`,
    "hourly-budget": () => `${figure(question.target)} an hour`,
    cheapest: () => "the cheapest size",
  }[question.goal]();
}

function sureness(chance) {
  return chance > 0.99 ? "more than 99 %" : `${Math.floor(100 * chance + 1e-9)} %`;
}

function promiseWords(question, offer, unit) {
  if (question.goal === "hourly-budget") return `${figure(hourly(question.price, offer.cores))} an hour buys ${withInterval(offer.rate)} ${unit}/s`;
  if (question.goal === "cheapest") return `${figure(offer.cost_per_million)} per million ${unit}, the lowest`;
  return `${sureness(offer.assurance)} sure of ${targetWords(question, unit)}`;
}

function sentence(series, question, { status, offer, reason, replicas }) {
  const { label, unit } = series;
  const most = question.goal === "efficiency" ? "at most " : "";
  const threads = offer && offer.threads > 1 ? ` with ${offer.threads} threads each` : "";
  const one = offer
    ? `give ${label} ${most}${count(offer.cores, "core")}${threads}: ${promiseWords(question, offer, unit)}` +
      `${offer.extrapolated ? ", extrapolated" : ""}${reason ? ` (${reason})` : ""}`
    : `${label}, ${targetWords(question, unit)}: ${status === "refused" ? "no answer" : "no"}: ${reason}`;
  if (!replicas || (offer && replicas.hourly_cost >= hourly(question.price, offer.cores))) return one;
  const size = `${count(replicas.replicas, "replica")} of ${count(replicas.cores, "core")} (${figure(replicas.hourly_cost)} an hour)`;
  return `${one}; ${offer ? "cheapest" : "together"}: ${size}, if replicas do not disturb each other`;
}

function answer(series, question) {
  const refused = { status: "refused", offer: null, neighbours: [], reason: series.refusal, replicas: null };
  const found = series.refusal ? refused : sizing(series, question);
  return { ...found, sentence: sentence(series, question, found) };
}

const planner = (() => {
  const { series: all, assurances } = facts.planner;
  const field = (name) => document.getElementById(`ask-${name}`);
  const reply = (name) => document.getElementById(`reply-${name}`);
  const number = (name) => (field(name).value.trim() === "" ? NaN : Number(field(name).value));
  let typedTarget = false;
  let waiting = null;

  function element(tag, text, className = "") {
    return Object.assign(document.createElement(tag), { textContent: text, className });
  }

  function seriesNamed(name) {
    return all.find((series) => series.name === name) ?? null;
  }

  // A target that the series can reach: what a reader would ask first.
  function usualTarget(series, goal, price) {
    if (goal === "efficiency") return 0.5;
    const { sizes, recommended } = series;
    const size = sizes.find((each) => each.cores === recommended) ?? sizes[Math.floor(sizes.length / 2)];
    if (goal === "hourly-budget") return Number(hourly(price, size.cores).toPrecision(3));
    const rate = 0.7 * size.rate.value;
    return Number((goal === "latency" ? series.work / rate : rate).toPrecision(2));
  }

  function question() {
    const price = { core_hour: number("core-hour"), replica_hour: number("replica-hour") };
    const goal = field("goal").value;
    return { goal, target: goal === "cheapest" ? 1 : number("target"), assurance: number("assurance"), price };
  }

  function complaint({ goal, target, price }) {
    if (!(price.core_hour > 0 && price.core_hour < Infinity && price.replica_hour >= 0 && price.replica_hour < Infinity)) {
      return "A core-hour must cost more than 0 and a replica-hour 0 or more.";
    }
    if (target > 0 && target < Infinity && !(goal === "efficiency" && target > 1)) return null;
    return `The target must be a number ${goal === "efficiency" ? "between 0 and 1" : "above 0"}.`;
  }

  function show() {
    const series = seriesNamed(field("series").value);
    const goal = field("goal").value;
    const unit = series.unit === "items" ? "step" : "run";
    const labels = { throughput: `${series.unit} per second`, latency: `seconds per ${unit}`, efficiency: "efficiency, 0 to 1", "hourly-budget": "cost per hour" };
    field("target-field").hidden = goal === "cheapest";
    field("target-label").textContent = labels[goal] ?? "";
    if (!typedTarget && !series.refusal && goal !== "cheapest") field("target").value = usualTarget(series, goal, question().price);
    const wanted = question();
    const wrong = series.refusal ? null : complaint(wanted);
    render(series, wanted, wrong ? { offer: null, neighbours: [], replicas: null, sentence: wrong } : answer(series, wanted), wrong);
  }

  function render(series, wanted, { offer, neighbours, replicas, sentence: words }, wrong) {
    const most = wanted.goal === "efficiency" ? "at most " : "";
    const threads = offer && offer.threads > 1 ? ` × ${offer.threads} threads` : "";
    const sure = offer && offer.assurance !== null ? [`${sureness(offer.assurance)} sure`] : [];
    reply("size").textContent = offer ? most + count(offer.cores, "core") + threads : replicas ? "no single size" : "no size";
    reply("mark").textContent = [...sure, ...(offer && offer.extrapolated ? ["extrapolated"] : [])].join(", ");
    reply("mark").classList.toggle("unsure", !offer || offer.extrapolated);
    reply("sentence").textContent = words;
    reply("facts").replaceChildren(...factPairs(series, wanted, offer, replicas));
    reply("curve").replaceChildren(...(wrong || series.refusal ? [] : [curve(series, wanted, offer, reply("curve").clientWidth)]));
    reply("offers").replaceChildren(...offerTable(series, wanted, offer, neighbours));
  }

  function factPairs(series, { price }, offer, replicas) {
    const measured = `the ${general(series.most_measured ?? 0)} cores measured`;
    const ofOffer = offer && [
      ["throughput", `${withInterval(offer.rate)} ${series.unit}/s`],
      ["efficiency", withInterval(offer.efficiency, percent)],
      ["cost per hour", figure(hourly(price, offer.cores))],
      [`cost per million ${series.unit}`, figure(offer.cost_per_million)],
      ["range", offer.extrapolated ? `extrapolated beyond ${measured}` : `within ${measured}`],
    ];
    const ofReplicas = replicas && [
      ["cheapest replicas", `${replicas.replicas} × ${count(replicas.cores, "core")}`],
      ["their cost per hour", figure(replicas.hourly_cost)],
    ];
    return [...(ofOffer ?? []), ...(ofReplicas ?? [])].map(([name, value]) => {
      const pair = document.createElement("div");
      pair.append(element("dt", name), element("dd", value));
      return pair;
    });
  }

  function offerTable(series, { goal }, offer, neighbours) {
    const offers = [...neighbours, ...(offer ? [offer] : [])];
    if (!offers.length) return [];
    offers.sort((one, other) => one.cores - other.cores || one.threads - other.threads);
    const sure = (chance) => (chance === null ? "-" : goal === "efficiency" ? sureness(chance) : `${fixed(100 * chance, 1)} %`);
    const headers = ["cores", "sure", `${series.unit}/s`, "efficiency", "CPU-h / million", "cost / million"];
    const rows = offers.map((each) => [
      each.threads === 1 ? String(each.cores) : `${each.cores}×${each.threads}`,
      sure(each.assurance),
      withInterval(each.rate),
      withInterval(each.efficiency, percent),
      figure(each.cpu_hours_per_million),
      figure(each.cost_per_million),
    ]);
    return [headers, ...rows].map((cells, index) => {
      const row = element("tr", "", index && offers[index - 1] === offer ? "given" : "");
      row.append(...cells.map((text) => element(index ? "td" : "th", text, "right")));
      row.querySelectorAll("th").forEach((header) => (header.scope = "col"));
      return row;
    });
  }

  function toAddress() {
    const query = new URLSearchParams();
    for (const [name, key] of Object.entries(FIELDS)) {
      if (name !== "target" || field("goal").value !== "cheapest") query.set(name, field(key).value);
    }
    history.replaceState(null, "", `#${MARK}${query}`);
  }

  // Takes the question from the address; whether there is one.
  function fromAddress() {
    const hash = location.hash.slice(1);
    if (!hash.startsWith(MARK)) return false;
    const query = new URLSearchParams(hash.slice(MARK.length));
    for (const [name, key] of Object.entries(FIELDS)) {
      const value = query.get(name);
      const { options } = field(key);
      if (value !== null && (!options || Array.from(options).some((option) => option.value === value))) field(key).value = value;
    }
    typedTarget = query.has("target");
    return true;
  }

  function changed(event) {
    if (event.target === field("target")) typedTarget = true;
    if (event.target === field("goal") || event.target === field("series")) typedTarget = false;
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      show();
      toAddress();
    }, 80);
  }

  function begin() {
    field("series").append(...all.map((series) => new Option(series.label, series.name)));
    field("assurance").append(...assurances.map((level) => new Option(`${general(100 * level)} %`, level, level === 0.95, level === 0.95)));
    const answerable = all.find((series) => !series.refusal);
    if (answerable) field("series").value = answerable.name;
    document.getElementById("planner-form").hidden = false;
    document.getElementById("ask-hint").hidden = false;
    const form = document.getElementById("ask");
    form.addEventListener("input", changed);
    form.addEventListener("change", changed);
    form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", () => fromAddress() && show());
    if (fromAddress()) document.getElementById("planner").scrollIntoView();
    show();
  }

  if (all.length) begin();
  return { seriesNamed };
})();

// For the browser's console: the facts of this page, and answers with the keys of `scaling capacity --json`.
window.scaling = {
  facts,
  answer: (name, question) => answer(planner.seriesNamed(name), question),
  numbers: { fixed, general, figure, percent, duration },
  normal,
};
