// The normal distribution function, to the last digits of a double: Marsaglia, Evaluating the Normal Distribution,
// Journal of Statistical Software 11(4), 2004.

const FARTHEST_NORMAL = 8.3; // beyond it the other tail is below half a unit in the last place of one
const LOG_ROOT_TWO_PI = 0.91893853320467274178;

function normal(x) {
  if (x >= FARTHEST_NORMAL) return 1;
  if (x <= -FARTHEST_NORMAL) return 0;
  const square = x * x;
  let sum = x;
  let term = x;
  let before = 0;
  for (let odd = 3; sum !== before; odd += 2) {
    before = sum;
    term *= square / odd;
    sum += term;
  }
  return 0.5 + sum * Math.exp(-0.5 * square - LOG_ROOT_TWO_PI);
}
