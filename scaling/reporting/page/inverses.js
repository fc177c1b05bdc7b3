// The scaling laws solved for the number of cores, draw by draw. NaN where no number of cores grants the wish, infinite
// where any does.

const HALVINGS = 120;
const MOST_CORES = 1e18;

function coresForSpeedup(goal, s, k) {
  const u = 1 + goal * (k - s);
  const inside = u ** 2 - 4 * k * goal ** 2 * (1 - s);
  if (u > 0 && inside >= 0) return (2 * goal * (1 - s)) / (u + Math.sqrt(inside));
  return s >= 1 && goal <= 1 ? goal : NaN;
}

function coresForEfficiency(least, s, k) {
  if (s <= 0 && k <= 0) return Infinity;
  const above = 1 / least - 1 + s;
  const slope = s - k;
  const root = Math.sqrt(slope ** 2 + 4 * k * above);
  return slope >= 0 ? (2 * above) / (slope + root) : (root - slope) / (2 * k);
}

function cheapestCores(perReplica, perCore, s, k) {
  if (perReplica <= 0) return 1;
  const square = perReplica * k + perCore * (s - k);
  if (square <= 0 && perCore * k <= 0) return Infinity;
  let low = 0;
  let high = Math.log(MOST_CORES);
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const middle = (low + high) / 2;
    const n = Math.exp(middle);
    const unpaid = perReplica * (1 - s) - square * n ** 2 - 2 * perCore * k * n ** 3;
    if (unpaid > 0) low = middle;
    else high = middle;
    if (low === high) break;
  }
  return Math.exp((low + high) / 2);
}

// Where a falling row over a grid first reaches zero, between its points; NaN where it never does.
function firstCrossing(grid, row) {
  const place = row.findIndex((value) => value <= 0);
  if (place < 0) return NaN;
  if (place === 0) return grid[0];
  const share = row[place - 1] / (row[place - 1] - row[place]);
  const before = Math.log(grid[place - 1]);
  return Math.exp(before + share * (Math.log(grid[place]) - before));
}

// That crossing for every draw; `rows` has for each point of the grid the values of all draws.
function crossings(grid, rows, size) {
  return Float64Array.from({ length: size }, (_, each) => firstCrossing(grid, rows.map((row) => row[each])));
}
