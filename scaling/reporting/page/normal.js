// The normal distribution function. The middle is Marsaglia's series (Evaluating the Normal Distribution, Journal of
// Statistical Software 11(4), 2004), to the last digits of a double; the tails are Laplace's continued fraction, so that
// even chances of next to nothing can be told apart.

const TAIL = 5;
const LOG_LARGEST = 709.782712893384; // of a double; whatever has a larger exponent is nothing
const LOG_ROOT_TWO_PI = 0.91893853320467274178;

function normal(x) {
  if (x < -TAIL) return tail(-x);
  return x > TAIL ? 1 - tail(x) : middle(x);
}

function middle(x) {
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

// What lies beyond x: φ(x) / (x + 1 / (x + 2 / (x + 3 / …))), from the far end back.
function tail(x) {
  const half = 0.5 * x * x;
  if (half > LOG_LARGEST) return 0;
  let rest = x;
  for (let depth = Math.ceil(25 + 150 / x); depth > 0; depth -= 1) rest = x + depth / rest;
  return Math.exp(-half - LOG_ROOT_TWO_PI) / rest;
}
