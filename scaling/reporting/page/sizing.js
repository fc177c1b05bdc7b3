// Sizing questions with the answers of `scaling capacity`, looked up in the quantiles of this page.

const AS_CHEAP = 0.05;
const MOST_REPLICAS = 4096;

function hourly(price, cores) {
  return price.replica_hour + price.core_hour * cores;
}

function perMillion(price, cores, rate) {
  return (hourly(price, cores) / rate / 3600) * 1e6;
}

// Between nodes a straight line, as in `samples.py`; infinite beyond them.
function interpolate(x, xs, ys) {
  const after = xs.findIndex((node) => node > x);
  if (after === 0) return -Infinity;
  if (after < 0) return x > xs[xs.length - 1] ? Infinity : ys[ys.length - 1];
  const slope = (ys[after] - ys[after - 1]) / (xs[after] - xs[after - 1]);
  return ys[after - 1] + slope * (x - xs[after - 1]);
}

// The normal distribution function: Chebyshev fit to erfc (Press et al., Numerical Recipes, 6.2), within 1.2e-7 of itself.
const ERFC = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223];

function normal(probit) {
  const x = Math.abs(probit) / Math.SQRT2;
  const t = 1 / (1 + x / 2);
  const tail = (t / 2) * Math.exp(ERFC.reduce((sum, term) => sum * t + term, 0) - x * x);
  return probit < 0 ? tail : 1 - tail;
}

function largest(values) {
  return values.reduce((best, value, index) => (value > values[best] ? index : best), 0);
}

function sizing(series, question) {
  const { sizes, work } = series;
  const { goal, target, assurance, price } = question;
  const level = facts.planner.assurances.indexOf(assurance);
  const quantile = facts.planner.assurance_probits[level];
  const logSeconds = Math.log(goal === "latency" ? target : work / target);
  const last = sizes.length - 1;

  const probit = (size) => interpolate(logSeconds, size.log_seconds, facts.planner.probits);
  const within = (size) => normal(probit(size));
  const enough = (size) => logSeconds >= size.log_seconds[quantile];
  const keeping = (size) => size.efficiencies.percents.filter((least) => least >= target).length / 100;

  function allocation(size, chance = () => null) {
    const { cores, threads, rate, efficiency, host, levels, basis, own_point_left_out, mark } = size;
    const [cpuHours, cost] = [{ core_hour: 1, replica_hour: 0 }, price].map((one) => perMillion(one, cores, rate.value));
    const costs = { cpu_hours_per_million: cpuHours, cost_per_million: cost };
    const where = { extrapolated: basis === "beyond", basis, own_point_left_out, mark };
    return { cores, threads, assurance: chance(size), rate, efficiency, ...costs, ...where, host, levels };
  }

  // The neighbours of a size: fewer and more cores with equal threads, fewer and more threads on equal cores.
  function beside(size) {
    const groups = [sizes.filter(({ threads }) => threads === size.threads), sizes.filter(({ cores }) => cores === size.cores)];
    const neighbours = groups.flatMap((group) => [-1, 1].map((step) => group[group.indexOf(size) + step]).filter(Boolean));
    return sizes.filter((other) => neighbours.includes(other));
  }

  function give(index, chance, reason = null) {
    const neighbours = beside(sizes[index]).map((other) => allocation(other, chance));
    return { status: "ok", allocation: allocation(sizes[index], chance), neighbours, reason };
  }

  // The reason if no number of cores is enough, or no available one.
  function giveNone(never, lost, neighbours) {
    const { status, reasons } = series.too_few;
    if (!lost) return { status, allocation: null, neighbours, reason: reasons[level] };
    const share = never >= 100 ? "" : ` (${never} % of the possible curves never reach it)`;
    const reason = `not reachable with ${general(100 * assurance)} % confidence${share}`;
    return { status: "not reachable", allocation: null, neighbours, reason };
  }

  function promise() {
    const index = sizes.findIndex(enough);
    if (index >= 0) return give(index, within);
    const never = Math.min(...series.fastest.map(({ percents }) => percents.filter((fastest) => fastest > logSeconds).length));
    const lost = series.fastest.every(({ assurances }) => logSeconds < assurances[level]);
    return giveNone(never, lost, [allocation(sizes.reduce(nearer), within)]);
  }

  // The size with the better chance, the faster of equals.
  function nearer(one, other) {
    const better = probit(other) - probit(one) || other.rate.value - one.rate.value;
    return better >= 0 ? other : one;
  }

  function efficiency() {
    const keep = sizes.filter((size) => target <= size.efficiencies.assurances[level]);
    if (!keep.length) return giveNone(0, false, []);
    const { cores: most } = keep[keep.length - 1];
    const index = sizes.indexOf(keep.find(({ cores }) => cores === most));
    return give(index, keeping, most === sizes[last].cores ? series.all_keep : null);
  }

  function budget() {
    const affordable = sizes.filter((size) => hourly(price, size.cores) <= target);
    if (affordable.length) return give(largest(affordable.map((size) => size.rate.value)));
    const reason = `one core costs ${general(hourly(price, 1))} an hour, more than the budget of ${general(target)}`;
    return { status: "not reachable", allocation: null, neighbours: [], reason };
  }

  function cheapest() {
    const costs = sizes.map((size) => perMillion(price, size.cores, size.rate.value));
    const best = largest(costs.map((cost) => -cost));
    const good = sizes.filter((_, index) => costs[index] <= costs[best] * (1 + AS_CHEAP)).map((size) => size.cores);
    const range = `${good[0]} to ${good[good.length - 1]} cores cost at most ${100 * AS_CHEAP} % more`;
    return give(best, undefined, good[0] < good[good.length - 1] ? range : null);
  }

  // The fewest replicas of a size that are enough together. With n replicas each has n times as long, and is slower
  // beside the others, so that on one machine more replicas may do less.
  function fewestReplicas(size) {
    // The mean over launches has less noise, by the root of their number.
    const noise = (replicas) => -(replicas ** -0.5);
    const doublings = size.replicas[level].map((_, index) => noise(2 ** index));
    const slowdown = (replicas) => size.crowding[Math.min(replicas, size.crowding.length) - 1] ?? null;
    const suffice = (replicas) =>
      logSeconds + Math.log(replicas / (slowdown(replicas) ?? 1)) >= interpolate(noise(replicas), doublings, size.replicas[level]);
    const first = size.crowding.findIndex((_, others) => suffice(others + 1));
    let [few, many] = first >= 0 ? [first, first + 1] : [size.crowding.length, MOST_REPLICAS];
    if (!suffice(many)) return null;
    while (many - few > 1) {
      const middle = Math.floor((few + many) / 2);
      if (suffice(middle)) many = middle;
      else few = middle;
    }
    return { replicas: many, cores: size.cores, threads: size.threads, hourly_cost: many * hourly(price, size.cores), crowding: slowdown(many) };
  }

  function cheapestReplicas() {
    const candidates = sizes.map(fewestReplicas).filter(Boolean);
    return candidates.sort((one, other) => one.hourly_cost - other.hourly_cost || one.replicas - other.replicas)[0] ?? null;
  }

  const answers = { throughput: promise, latency: promise, efficiency, "hourly-budget": budget, cheapest };
  return { ...answers[goal](), replicas: goal === "throughput" ? cheapestReplicas() : null };
}
