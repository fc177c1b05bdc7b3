// An answer as a sentence and as facts, in the words and with the names of `scaling capacity`.

function wantedWords(question, unit) {
  return {
    throughput: () => `${figure(question.target)} ${unit}/s`,
    latency: () => `${unit === "items" ? "a step" : "a run"} within ${duration(question.target)}`,
    efficiency: () => `an efficiency of ${percent(question.target)} or more`,
    budget: () => `${figure(question.target)} an hour`,
    cheapest: () => "the cheapest size",
  }[question.kind]();
}

// A probability in whole percent, rounded down; what lies above 99 % is not called certain.
function sureness(assurance) {
  return assurance > 0.99 ? "more than 99 %" : `${Math.floor(100 * assurance + 1e-9)} %`;
}

function promiseWords(question, offer, unit) {
  if (question.kind === "budget") {
    return `${figure(hourly(question.price, offer.cores))} an hour buys ${spreadWords(offer.rate)} ${unit}/s`;
  }
  if (question.kind === "cheapest") return `${figure(offer.cost_per_million)} per million ${unit}, the lowest`;
  return `${sureness(offer.assurance)} sure of ${wantedWords(question, unit)}`;
}

function oneSizeWords(series, question, found) {
  const { offer, reason } = found;
  if (offer === null) {
    const word = found.status === "refused" ? "no answer" : "no";
    return `${series.label}, ${wantedWords(question, series.unit)}: ${word}: ${reason}`;
  }
  const most = question.kind === "efficiency" ? "at most " : "";
  const threads = offer.threads > 1 ? ` with ${offer.threads} threads each` : "";
  const promise = promiseWords(question, offer, series.unit);
  const end = `${offer.extrapolated ? ", extrapolated" : ""}${reason ? ` (${reason})` : ""}`;
  return `give ${series.label} ${most}${counted(offer.cores, "core")}${threads}: ${promise}${end}`;
}

// The cheapest replicas, where they cost less than the one size or there is none.
function fleetWords(question, found) {
  const { fleet, offer } = found;
  if (fleet === null || (offer !== null && fleet.hourly_cost >= hourly(question.price, offer.cores))) return "";
  const size = `${counted(fleet.replicas, "replica")} of ${counted(fleet.cores, "core")}`;
  const sure = `${figure(fleet.hourly_cost)} an hour, ${sureness(fleet.assurance)} sure`;
  return `; ${offer ? "cheapest" : "together"}: ${size} (${sure}), if replicas do not disturb each other`;
}

// What `scaling capacity --json` says of a series.
function answer(series, question) {
  const found = series.refusal
    ? { status: "refused", offer: null, needed: NOTHING, neighbours: [], reason: series.refusal, fleet: null }
    : desk(series, question)[question.kind]();
  const { offer } = found;
  return {
    name: series.name,
    unit: series.unit,
    question: question.kind,
    target: question.target,
    assurance_asked: question.assurance,
    status: found.status,
    cores: offer && offer.cores,
    threads: offer && offer.threads,
    assurance: offer && offer.assurance,
    extrapolated: offer && offer.extrapolated,
    needed: found.needed,
    offer,
    neighbours: found.neighbours,
    fleet: found.fleet,
    reason: found.reason,
    verdict: series.verdict,
    sentence: oneSizeWords(series, question, found) + fleetWords(question, found),
  };
}
