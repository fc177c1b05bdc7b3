// Numbers and times as the terminal writes them. JavaScript rounds a tie away from zero and Python to the even digit, so
// an exact tie that JavaScript rounded to an odd digit is rounded again from just below.

function toEven(number, digits, write) {
  const text = write(number);
  const exact = number.toPrecision(100).replace(/e.*|[.-]/g, "").replace(/^0+|0+$/g, "");
  const tie = exact.length === digits + 1 && exact.endsWith("5");
  return tie && /[13579]$/.test(text.replace(/e.*/, "")) ? write(number * (1 - Number.EPSILON)) : text;
}

// Python's format(number, ".Nf").
function fixed(number, decimals) {
  if (Math.abs(number) >= 1e21) return BigInt(number).toString() + (decimals ? `.${"0".repeat(decimals)}` : "");
  const whole = number === 0 ? 0 : Math.floor(Math.log10(Math.abs(number))) + 1;
  return toEven(number, whole + decimals, (value) => value.toFixed(decimals));
}

// Python's format(number, ".Ng").
function general(number, digits = 6) {
  const [mantissa, power] = toEven(number, digits, (value) => value.toExponential(digits - 1)).split("e").map(Number);
  if (power < -4 || power >= digits) {
    return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  return String(Number(Number(`${mantissa}e${power}`).toFixed(Math.max(0, digits - 1 - power))));
}

// Three digits or more; below a billion, large numbers are whole and without an exponent.
function figure(number, digits = 3) {
  return number >= 10 ** digits - 0.5 && number < 1e9 ? fixed(number, 0) : general(number, digits);
}

function percent(ratio) {
  return `${figure(100 * ratio)} %`;
}

function count(number, noun) {
  return number === 1 ? `${number} ${noun}` : `${number} ${noun}s`;
}

// A step time in a fitting unit.
function duration(seconds) {
  const rounded = Number(general(seconds, 4));
  for (const [factor, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (rounded >= factor) return `${figure(seconds / factor, 4)} ${unit}`;
  }
  return `${figure(seconds * 1e9, 4)} ns`;
}

// '6.2 (5.4 to 7.9)'.
function withInterval(estimate, words = figure) {
  const [value, low, high] = [estimate.value, estimate.low, estimate.high].map((end) => words(end));
  return value === low && value === high ? value : `${value} (${low} to ${high})`;
}
