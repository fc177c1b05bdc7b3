// Numbers and times in the words of the terminal. Python rounds a tie to the even digit and JavaScript away from zero, so
// digits are taken from the exact decimal value and rounded here.

const EXACT_DIGITS = 100; // as many as there are to be had; a tie has few, and no other double comes as close to one

// The first digits of a number above zero as a whole number, rounded, and the power of ten of the first one.
function rounded(number, digitsFrom) {
  const [mantissa, power] = number.toExponential(EXACT_DIGITS).split("e");
  const first = Number(power);
  const digits = digitsFrom(first);
  if (digits < 0) return { whole: 0n, first };
  const all = mantissa.replace(".", "").padEnd(digits, "0");
  const rest = all.slice(digits);
  const half = "5".padEnd(rest.length, "0");
  const whole = BigInt(all.slice(0, digits) || "0");
  const up = rest && (rest > half || (rest === half && whole % 2n === 1n));
  return { whole: up ? whole + 1n : whole, first };
}

// Python's format(number, ".Nf").
function fixed(number, decimals) {
  const sign = number < 0 || Object.is(number, -0) ? "-" : "";
  const units = number === 0 ? 0n : rounded(Math.abs(number), (first) => first + 1 + decimals).whole;
  const text = units.toString().padStart(decimals + 1, "0");
  return sign + (decimals ? `${text.slice(0, -decimals)}.${text.slice(-decimals)}` : text);
}

// Python's format(number, ".Ng").
function general(number, digits = 6) {
  const sign = number < 0 || Object.is(number, -0) ? "-" : "";
  const size = Math.abs(number);
  if (size === 0) return `${sign}0`;
  if (!Number.isFinite(size)) return Number.isNaN(size) ? "nan" : `${sign}inf`;
  const { whole, first } = rounded(size, () => digits);
  const carried = whole.toString().length > digits;
  const power = carried ? first + 1 : first;
  const text = whole.toString().slice(0, digits);
  const short = text.replace(/0+$/, "");
  if (power < -4 || power >= digits) {
    const mantissa = short.length > 1 ? `${short[0]}.${short.slice(1)}` : short;
    return `${sign}${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${short}`;
  const part = short.slice(power + 1);
  return sign + text.slice(0, power + 1) + (part ? `.${part}` : "");
}

// A number to three digits, or to the last whole one, without an exponent where people would not write one.
function figure(number) {
  return number >= 1e3 && number < 1e9 ? fixed(number, 0) : general(number, 3);
}

function percent(ratio) {
  return `${general(100 * ratio, 3)} %`;
}

function counted(number, noun) {
  return number === 1 ? `${number} ${noun}` : `${number} ${noun}s`;
}

// A step time with the unit that fits it.
function duration(seconds) {
  for (const [factor, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (seconds >= factor) return `${general(seconds / factor, 4)} ${unit}`;
  }
  return `${general(seconds * 1e9, 4)} ns`;
}

// '6.2 (5.4 to 7.9)', with other words for what is out of reach.
function spreadWords(spread, words = figure, beyond = "no limit") {
  const [value, low, high] = [spread.value, spread.low, spread.high].map((each) => (each === null ? beyond : words(each)));
  return value === low && value === high ? value : `${value} (${low} to ${high})`;
}
