// Sizing questions answered as `scaling capacity` answers them: the same draws, the same sizes, the same words.

const AS_CHEAP = 0.05;
const MOST_REPLICAS = 1e6;
const NOTHING = { value: null, low: null, high: null };

function hourly(price, cores) {
  return price.replica_hour + price.core_hour * cores;
}

function perMillion(price, cores, rate) {
  return (hourly(price, cores) / rate / 3600) * 1e6;
}

function desk(series, question) {
  const drawn = (series.drawn ??= drawsOf(series));
  const { counts, work } = series;
  const { kind, target, assurance, price } = question;
  const seconds = kind === "latency" ? target : work / target;

  function perDraw(formula) {
    return Float64Array.from({ length: drawn.size }, (_, each) => formula(each, drawn.contention[each], drawn.coherency[each]));
  }

  function coresSpread(values) {
    return spreadOf(values.map((value) => (value <= series.farthest ? value : Infinity)), drawn);
  }

  const one = logTime(drawn, 1);

  function logEfficiency(cores, siblings = 0) {
    const logCores = Math.log(cores);
    return logTime(drawn, cores, siblings).map((log, each) => one[each] - log - logCores);
  }

  function gridOf() {
    return Array.from(new Float64Array(bytes(series.grid)));
  }

  // The cores each draw needs, fractional but at least one; NaN where no number of cores is enough.
  function neededCores() {
    if (drawn.clock.governs === "nothing") {
      return perDraw((each, s, k) => coresForSpeedup(Math.max(Math.exp(drawn.log_seconds[each]) / seconds, 1), s, k));
    }
    const grid = gridOf();
    const wanted = Math.log(seconds);
    return crossings(grid, grid.map((cores) => logTime(drawn, cores).map((log) => log - wanted)), drawn.size);
  }

  function efficiencyLimits() {
    if (drawn.clock.governs === "nothing") return perDraw((_, s, k) => coresForEfficiency(target, s, k));
    const grid = gridOf();
    const least = Math.log(target);
    const found = crossings(grid, grid.map((cores) => logEfficiency(cores).map((log) => log - least)), drawn.size);
    return found.map((value) => (Number.isNaN(value) ? Infinity : value));
  }

  function rateOn(cores, siblings = 0) {
    return spreadOf(logTime(drawn, cores, siblings).map((log) => work * Math.exp(-log)), drawn);
  }

  function offerOf(place, chances, siblings = 0) {
    const cores = counts[place];
    const rate = rateOn(cores, siblings);
    return {
      cores,
      threads: 1,
      assurance: chances === null ? null : chances[place],
      rate,
      efficiency: spreadOf(logEfficiency(cores, siblings).map(Math.exp), drawn),
      cpu_hours_per_million: perMillion({ core_hour: 1, replica_hour: 0 }, cores, rate.value),
      cost_per_million: perMillion(price, cores, rate.value),
      extrapolated: cores > series.most_measured,
    };
  }

  function answered(status, offer, needed, neighbours, reason) {
    return { status, offer, needed, neighbours, reason, fleet: null };
  }

  function given(place, needed, chances) {
    const around = [place - 1, place + 1].filter((other) => other >= 0 && other < counts.length);
    const neighbours = around.map((other) => offerOf(other, chances));
    return answered("ok", offerOf(place, chances), needed, neighbours, series.only_measured);
  }

  function beyond() {
    const last = series.machine === null ? Infinity : series.machine.last;
    if (last <= series.farthest) return ["not reachable", `the ${last} cores of ${series.machine.name} are too few`];
    const measured = `${general(series.most_measured)} cores measured`;
    if (series.only_measured) return ["refused", `${series.only_measured}, and the ${measured} are too few`];
    return ["refused", `even twice the ${measured} are too few, and beyond that nothing is said,`];
  }

  // Why there is no size: no number of cores is enough, or none that is on offer or may be spoken of.
  function notGiven(needed, never, nearest) {
    const sure = `${general(100 * assurance)} % confidence`;
    if (never > 1 - assurance + ROUNDING) {
      const share = never >= 0.9995 ? "" : ` (${fixed(100 * never, 0)} % of the laws that fit never get there)`;
      return answered("not reachable", null, needed, nearest, `not reachable with ${sure}${share}`);
    }
    const [status, words] = beyond();
    const about = needed.value === null ? "" : `; the law by itself asks for about ${general(needed.value, 3)}`;
    return answered(status, null, needed, nearest, `${words} for ${sure}${about}`);
  }

  // All cores of the machine with all their threads, where a fit knows what a second thread yields.
  function shared() {
    const { machine } = series;
    const last = counts.length - 1;
    if (!(series.smt_known && machine && machine.threads > 1 && counts[last] === machine.last)) return null;
    const siblings = counts[last] * (machine.threads - 1);
    const chance = chanceWithin(drawn, seconds, counts[last], siblings);
    return { ...offerOf(last, null, siblings), threads: machine.threads, assurance: chance };
  }

  function sureEnough(chances) {
    return Array.from(chances.keys()).filter((place) => chances[place] >= assurance - ROUNDING);
  }

  function promise() {
    const needed = neededCores();
    const spread = coresSpread(needed);
    const chances = counts.map((cores) => chanceWithin(drawn, seconds, cores));
    const enough = sureEnough(chances);
    if (enough.length) return given(enough[0], spread, chances);
    const both = shared();
    if (both && both.assurance >= assurance - ROUNDING) {
      return answered("ok", both, spread, [offerOf(counts.length - 1, chances)], series.only_measured);
    }
    const never = pairwiseSum(drawn.share.filter((_, each) => !Number.isFinite(needed[each])));
    const nearest = counts.length ? [offerOf(firstLargest(chances), chances)] : [];
    return notGiven(spread, never, nearest);
  }

  function throughput() {
    return { ...promise(), fleet: cheapestFleet(drawn, seconds, counts, price, assurance) };
  }

  function efficiency() {
    const limits = efficiencyLimits();
    const spread = coresSpread(limits);
    const chances = counts.map((cores) => {
      let sum = 0;
      limits.forEach((limit, each) => (sum += limit >= cores - 1e-9 ? drawn.share[each] : 0));
      return sum;
    });
    const enough = sureEnough(chances);
    if (!enough.length) return notGiven(spread, 0, []);
    const place = enough[enough.length - 1];
    const found = given(place, spread, chances);
    const reasons = [found.reason, place === counts.length - 1 ? endWords() : null].filter(Boolean);
    return { ...found, reason: reasons.join("; ") || null };
  }

  function endWords() {
    const last = counts[counts.length - 1];
    if (series.machine && last === series.machine.last) return `all ${last} cores of the machine keep it`;
    return `more cores may keep it too, but ${last} is as far as ${general(series.most_measured)} measured ones can tell`;
  }

  function budget() {
    const affordable = Array.from(counts.keys()).filter((place) => hourly(price, counts[place]) <= target);
    if (!affordable.length) {
      const reason = `one core costs ${general(hourly(price, 1))} an hour, more than the ${general(target)} there are`;
      return answered("not reachable", null, NOTHING, [], reason);
    }
    const best = firstLargest(affordable.map((place) => rateOn(counts[place]).value ?? 0));
    return given(affordable[best], NOTHING, null);
  }

  function cheapest() {
    const needed = perDraw((_, s, k) => cheapestCores(price.replica_hour, price.core_hour, s, k));
    const costs = counts.map((cores) => perMillion(price, cores, rateOn(cores).value));
    const best = firstLargest(costs.map((cost) => -cost));
    const asGood = counts.filter((_, place) => costs[place] <= costs[best] * (1 + AS_CHEAP));
    const found = given(best, coresSpread(needed), null);
    const range = `${asGood[0]} to ${asGood[asGood.length - 1]} cores cost at most ${fixed(100 * AS_CHEAP, 0)} % more`;
    return { ...found, reason: asGood.length > 1 ? range : null };
  }

  return { throughput, latency: promise, efficiency, budget, cheapest, rateOn, logEfficiency, drawn };
}

function firstLargest(values) {
  return values.reduce((best, value, place) => (value > values[best] ? place : best), 0);
}

// The cheapest replicas that together do a work in so many seconds; of equal ones the fewest.
function cheapestFleet(drawn, seconds, counts, price, assurance) {
  let best = null;
  for (const cores of counts) {
    const found = fleetOf(drawn, seconds, cores, price, assurance, best);
    const cheaper = found && (!best || found.hourly_cost < best.hourly_cost);
    if (cheaper || (found && found.hourly_cost === best.hourly_cost && found.replicas < best.replicas)) best = found;
  }
  return best;
}

// The fewest replicas of a size that are sure enough; null too where they cannot cost less than the best known.
function fleetOf(drawn, seconds, cores, price, assurance, best) {
  const logs = logTime(drawn, cores);
  const chance = (replicas) => chanceWithin(drawn, seconds * replicas, cores, 0, replicas, logs);
  const [middleLog] = quantiles(logs, drawn, [0.5]);
  let most = Math.max(1, Math.floor(Math.exp(middleLog) / seconds)) - 1;
  let step = 1;
  if (best && (most + 1) * hourly(price, cores) > best.hourly_cost) return null;
  while (most + step <= MOST_REPLICAS && chance(most + step) < assurance) {
    most += step;
    step *= 2;
  }
  if (most + step > MOST_REPLICAS) return null;
  let enough = most + step;
  while (enough - most > 1) {
    const middle = Math.floor((most + enough) / 2);
    if (chance(middle) >= assurance) enough = middle;
    else most = middle;
  }
  return { replicas: enough, cores, hourly_cost: enough * hourly(price, cores), assurance: chance(enough) };
}
