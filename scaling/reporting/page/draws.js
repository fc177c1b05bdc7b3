// Laws that might have been, as they travel in this page, and what follows from them. One entry a draw.

const ROUNDING = 1e-12;

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

// An array of equal values travels as the one value; noise and slope of the second half are those of the first.
function unpacked(value, count) {
  if (typeof value === "number") return new Float64Array(count).fill(value);
  const kept = Float64Array.from(new Float32Array(bytes(value)));
  if (kept.length === count) return kept;
  const twice = new Float64Array(count);
  twice.set(kept);
  twice.set(kept, kept.length);
  return twice;
}

const PARAMETERS = ["log_seconds", "contention", "coherency", "smt_yield", "noise", "slope"];

function drawsOf(series) {
  const size = series.laws.reduce((sum, law) => sum + law.draws, 0);
  const drawn = { size, clock: series.clock, share: new Float64Array(size), laws: [] };
  for (const name of PARAMETERS) drawn[name] = new Float64Array(size);
  let start = 0;
  for (const law of series.laws) {
    drawn.share.fill(law.share, start, start + law.draws);
    drawn.laws.push({ start, end: start + law.draws, share: law.share });
    for (const name of PARAMETERS) drawn[name].set(unpacked(law[name], law.draws), start);
    start += law.draws;
  }
  drawn.total = pairwiseSum(drawn.share);
  return drawn;
}

// A sum in the order in which numpy adds up an array.
function pairwiseSum(values, start = 0, count = values.length) {
  if (count < 8) {
    let sum = 0;
    for (let place = start; place < start + count; place += 1) sum += values[place];
    return sum;
  }
  if (count <= 128) {
    const sums = Array.from(values.slice(start, start + 8));
    let place = 8;
    for (; place < count - (count % 8); place += 8) {
      for (let lane = 0; lane < 8; lane += 1) sums[lane] += values[start + place + lane];
    }
    let sum = sums[0] + sums[1] + (sums[2] + sums[3]) + (sums[4] + sums[5] + (sums[6] + sums[7]));
    for (; place < count; place += 1) sum += values[start + place];
    return sum;
  }
  let half = Math.floor(count / 2);
  half -= half % 8;
  return pairwiseSum(values, start, half) + pairwiseSum(values, start + half, count - half);
}

// By how much the shared part and the whole are slowed on so many cores; beyond the last count, as at the last.
function stretches(clock, cores) {
  if (clock.governs === "nothing") return [1, 1];
  const here = interpolated(Math.log(cores), clock.cores.map(Math.log), clock.stretch);
  return clock.governs === "parallel part" ? [here, 1] : [1, here];
}

function interpolated(x, xs, ys) {
  const last = xs.length - 1;
  if (x <= xs[0]) return ys[0];
  if (x >= xs[last]) return ys[last];
  let place = 0;
  while (xs[place + 1] <= x) place += 1;
  const slope = (ys[place + 1] - ys[place]) / (xs[place + 1] - xs[place]);
  return slope * (x - xs[place]) + ys[place];
}

// Log seconds on so many cores; further hardware threads count by the yield drawn.
function logTime(drawn, cores, siblings = 0) {
  const [shared, whole] = stretches(drawn.clock, cores);
  const logWhole = Math.log(whole);
  const logs = new Float64Array(drawn.size);
  for (let each = 0; each < drawn.size; each += 1) {
    const effective = cores + drawn.smt_yield[each] * siblings;
    const s = drawn.contention[each];
    const time = ((1 - s) * shared) / effective + s + drawn.coherency[each] * (effective - 1);
    logs[each] = drawn.log_seconds[each] + Math.log(time) + logWhole;
  }
  return logs;
}

// How likely the mean of so many new launches takes no longer than so many seconds.
function chanceWithin(drawn, seconds, cores, siblings = 0, launches = 1, logs = logTime(drawn, cores, siblings)) {
  const wanted = Math.log(seconds);
  const logCores = Math.log(cores);
  const root = Math.sqrt(launches);
  let sum = 0;
  for (let each = 0; each < drawn.size; each += 1) {
    const noise = (drawn.noise[each] * Math.exp((drawn.slope[each] * logCores) / 2)) / root;
    sum += drawn.share[each] * normal((wanted - logs[each]) / Math.max(noise, 1e-15));
  }
  return sum / drawn.total;
}

// Quantiles of values with shares, ascending levels; a value that is not a number counts as larger than all. The draws of
// one law have one share, so each law's values are sorted by themselves and then walked through together.
function quantiles(values, drawn, levels) {
  const sorted = drawn.laws.map(({ start, end }) => values.slice(start, end).sort()); // NaN last
  const next = drawn.laws.map(() => 0);
  const found = [];
  let sum = 0;
  let value = Infinity;
  for (let place = 0; place < drawn.size && found.length < levels.length; place += 1) {
    const law = smallest(sorted, next);
    value = sorted[law][next[law]];
    next[law] += 1;
    sum += drawn.laws[law].share;
    const reached = sum - drawn.laws[law].share / 2;
    while (found.length < levels.length && reached >= levels[found.length] * drawn.total) found.push(value);
  }
  while (found.length < levels.length) found.push(value);
  return found.map((each) => (Number.isNaN(each) ? Infinity : each));
}

// Which of several sorted lists has the smallest value next; one that is used up, or has only NaN left, comes last.
function smallest(sorted, next) {
  let best = -1;
  for (let law = 0; law < sorted.length; law += 1) {
    if (next[law] === sorted[law].length) continue;
    if (best < 0 || sorted[law][next[law]] < sorted[best][next[best]] || Number.isNaN(sorted[best][next[best]])) best = law;
  }
  return best;
}

// The middle and the 95 % interval; null where it is without limit.
function spreadOf(values, drawn) {
  const [low, value, high] = quantiles(values, drawn, [0.025, 0.5, 0.975]).map((each) =>
    Math.abs(each) < Infinity ? each : null,
  );
  return { value, low, high };
}
