// The form of the planner. The address contains the question, so that a link opens with it.

const facts = JSON.parse(document.getElementById("facts").textContent);
const MARK = "ask?";
const SHORT_MARKS = { between: "interpolated", below: "extrapolated", beyond: "extrapolated" };

function targetWords({ goal, target }, words) {
  const write = { latency: duration, efficiency: percent }[goal] ?? figure;
  return words.target[goal].replace("{}", write(target));
}

function sizeWords({ cores, threads }) {
  return count(cores, "core") + (threads > 1 ? ` × ${threads} threads` : "");
}

function sureness(chance) {
  return chance > 0.99 ? "more than 99 %" : `${Math.floor(100 * chance + 1e-9)} %`;
}

function promiseWords(question, allocation, { unit, words }) {
  if (question.goal === "hourly-budget") return `${figure(hourly(question.price, allocation.cores))} an hour buys ${withInterval(allocation.rate)} ${unit}/s`;
  if (question.goal === "cheapest") return `${figure(allocation.cost_per_million)} per million ${unit}, the lowest cost`;
  return `${sureness(allocation.assurance)} sure of ${targetWords(question, words)}`;
}

function crowdingWords({ crowding }) {
  if (crowding === null) return "if replicas do not disturb each other";
  return `each ${percent(crowding - 1)} slower beside the others (the largest slowdown measured in packs)`;
}

function sentence(series, question, { status, allocation, reason, replicas }) {
  const { label, words } = series;
  const most = question.goal === "efficiency" ? "at most " : "";
  const one = allocation
    ? `give ${label} ${most}${sizeWords(allocation)}: ${promiseWords(question, allocation, series)}` +
      `${allocation.mark ? `, ${allocation.mark}` : ""}${reason ? ` (${reason})` : ""}`
    : `${label}, ${targetWords(question, words)}: ${status === "refused" ? "no answer" : "no size"}: ${reason}`;
  if (!replicas || (allocation && replicas.hourly_cost >= hourly(question.price, allocation.cores))) return one;
  const size = `${count(replicas.replicas, "replica")} of ${sizeWords(replicas)} (${figure(replicas.hourly_cost)} an hour)`;
  return `${one}; ${allocation ? "cheapest" : "instead"}: ${size}, ${crowdingWords(replicas)}`;
}

// The speedup of the size and its turns over the step time, which a promise includes.
function levels({ label }, { goal }, { allocation }) {
  if (!allocation || !allocation.levels) return null;
  return `${label} on ${allocation.levels}${["throughput", "latency"].includes(goal) ? "; the assurance allows for this" : ""}`;
}

function answer(series, question) {
  const refused = { status: "refused", allocation: null, neighbours: [], reason: series.refusal, replicas: null };
  const reply = series.refusal ? refused : sizing(series, question);
  return { ...reply, levels: levels(series, question, reply), sentence: sentence(series, question, reply) };
}

function seriesNamed(name) {
  return facts.planner.series.find((series) => series.name === name);
}

{
  const { series: all, assurances } = facts.planner;
  const form = document.getElementById("ask");
  const field = (name) => form.elements.namedItem(name);
  const reply = (name) => document.getElementById(`reply-${name}`);
  let typedTarget = false;

  function element(tag, content, className = "") {
    const made = Object.assign(document.createElement(tag), { className });
    made.append(...[content].flat());
    return made;
  }

  // The target that the recommended size meets with this assurance.
  function usualTarget({ sizes, recommended, recommended_threads, work }, goal, { price, assurance }) {
    const size = sizes.find(({ cores, threads }) => cores === recommended && threads === recommended_threads) ?? sizes[Math.floor(sizes.length / 2)];
    const level = assurances.indexOf(assurance);
    if (goal === "hourly-budget") return Number(hourly(price, size.cores).toPrecision(3));
    if (goal === "efficiency") return rounded(Math.max(size.efficiencies.assurances[level], 0.01), Math.floor);
    const seconds = Math.exp(size.log_seconds[facts.planner.assurance_probits[level]]);
    return goal === "latency" ? rounded(seconds, Math.ceil) : rounded(work / seconds, Math.floor);
  }

  // To two digits, in the direction that makes a target easier.
  function rounded(value, round) {
    const power = Math.floor(Math.log10(value)) - 1;
    return Number(`${round(value / 10 ** power)}e${power}`);
  }

  function question() {
    const [core_hour, replica_hour, target] = ["core-hour", "replica-hour", "target"].map((name) => field(name).valueAsNumber);
    const goal = field("want").value;
    return { goal, target: goal === "cheapest" ? 1 : target, assurance: Number(field("assurance").value), price: { core_hour, replica_hour } };
  }

  function complaint({ goal, target, price }) {
    if (!(price.core_hour > 0 && price.replica_hour >= 0)) return "A core-hour must cost more than 0, a replica-hour 0 or more.";
    if (target > 0 && !(goal === "efficiency" && target > 1)) return null;
    return `The target must be a number ${goal === "efficiency" ? "between 0 and 1" : "above 0"}.`;
  }

  function show() {
    const series = seriesNamed(field("series").value);
    const goal = field("want").value;
    field("target").disabled = document.getElementById("ask-target-field").hidden = goal === "cheapest";
    document.getElementById("ask-target-label").textContent = series.words.field[goal];
    if (!typedTarget && !series.refusal && goal !== "cheapest") field("target").value = usualTarget(series, goal, question());
    const wrong = series.refusal ? null : complaint(question());
    const answered = wrong ? { allocation: null, neighbours: [], replicas: null, levels: null, sentence: wrong } : answer(series, question());
    render(series, question(), answered, !wrong && !series.refusal);
  }

  function render(series, question, { allocation, neighbours, replicas, levels, sentence }, withCurve) {
    const most = question.goal === "efficiency" ? "at most " : "";
    const marks = [allocation && allocation.assurance !== null && `${sureness(allocation.assurance)} sure`, allocation && SHORT_MARKS[allocation.basis]];
    reply("size").textContent = allocation ? most + sizeWords(allocation) : replicas ? "no single size" : "no size";
    reply("mark").textContent = marks.filter(Boolean).join(", ");
    reply("mark").classList.toggle("unsure", !allocation || ["below", "beyond"].includes(allocation.basis) || allocation.own_point_left_out);
    reply("sentence").textContent = sentence;
    reply("levels").textContent = levels ?? "";
    reply("facts").replaceChildren(...factPairs(series, question, allocation, replicas));
    reply("curve").replaceChildren(...(withCurve ? [curve(series, question, allocation, reply("curve").clientWidth)] : []));
    reply("allocations").replaceChildren(...allocationRows(series, question, allocation, neighbours));
  }

  function factPairs(series, { price }, allocation, replicas) {
    const ofAllocation = allocation && [
      ["throughput", `${withInterval(allocation.rate)} ${series.unit}/s`],
      ["efficiency", withInterval(allocation.efficiency, percent)],
      ["cost per hour", figure(hourly(price, allocation.cores))],
      [`cost per million ${series.unit}`, figure(allocation.cost_per_million)],
      ["basis", allocation.mark || "measured"],
    ];
    const ofReplicas = replicas && [
      ["cheapest replicas", `${replicas.replicas} × ${sizeWords(replicas)}`],
      ["their cost per hour", figure(replicas.hourly_cost)],
    ];
    return [...(ofAllocation || []), ...(ofReplicas || [])].map(([name, value]) => element("div", [element("dt", name), element("dd", value)]));
  }

  function allocationRows(series, { goal }, given, neighbours) {
    const allocations = [...neighbours, given].filter(Boolean).sort((one, other) => one.cores - other.cores || one.threads - other.threads);
    const sure = (chance) => (chance === null ? "-" : goal === "efficiency" ? sureness(chance) : `${fixed(100 * chance, 1)} %`);
    const names = ["cores", "sure", `${series.unit}/s`, "efficiency", "CPU-h / million", "cost / million"];
    const headers = names.map((name) => Object.assign(element("th", name, "right"), { scope: "col" }));
    const rows = allocations.map((allocation) => {
      const cells = [
        allocation.threads === 1 ? String(allocation.cores) : `${allocation.cores}×${allocation.threads}`,
        sure(allocation.assurance),
        withInterval(allocation.rate),
        withInterval(allocation.efficiency, percent),
        figure(allocation.cpu_hours_per_million),
        figure(allocation.cost_per_million),
      ];
      return element("tr", cells.map((text) => element("td", text, "right")), allocation === given ? "given" : "");
    });
    return rows.length ? [element("tr", headers), ...rows] : [];
  }

  // Reads the question from the address and returns whether there is one.
  function fromAddress() {
    const hash = location.hash.slice(1);
    if (!hash.startsWith(MARK)) return false;
    const query = new URLSearchParams(hash.slice(MARK.length));
    for (const input of form.elements) {
      const value = query.get(input.name);
      const allowed = !input.options || Array.from(input.options).some((option) => option.value === value);
      if (value !== null && allowed) input.value = value;
    }
    typedTarget = query.has("target");
    return true;
  }

  function update(event) {
    if (event.target === field("target")) typedTarget = true;
    if (event.target === field("want") || event.target === field("series")) typedTarget = false;
    show();
    history.replaceState(null, "", `#${MARK}${new URLSearchParams(new FormData(form))}`);
  }

  function start() {
    field("series").append(...all.map((series) => new Option(series.label, series.name)));
    field("assurance").append(...assurances.map((level) => new Option(`${general(100 * level)} %`, level, level === 0.95, level === 0.95)));
    field("series").value = (all.find((series) => !series.refusal) ?? all[0]).name;
    document.getElementById("planner-form").hidden = document.getElementById("ask-hint").hidden = false;
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", () => fromAddress() && show());
    if (fromAddress()) document.getElementById("planner").scrollIntoView();
    show();
  }

  if (form && all.length) start();
}

// For the browser's console: the facts of this page, and answers with the keys of `scaling capacity --json`.
window.scaling = {
  facts,
  answer: (name, question) => answer(seriesNamed(name), question),
  numbers: { fixed, general, figure, percent, duration },
  normal,
};
