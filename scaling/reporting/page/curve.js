// A small figure in the planner: median and 95 % band over the available sizes, the target, and the given size.

const HEIGHT = 230;
const EDGE = { left: 58, right: 14, top: 26, bottom: 36 };

function svg(name, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// Round numbers that divide a range into about the wanted number of steps.
function ticks(most, wanted) {
  const power = 10 ** Math.floor(Math.log10(most / wanted));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= most / wanted);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, index) => index * step);
}

// The estimate of a size that answers a question.
function estimate(goal, work, { rate, efficiency }) {
  const seconds = () => ({ value: work / rate.value, low: work / rate.high, high: work / rate.low });
  return goal === "efficiency" ? efficiency : goal === "latency" ? seconds() : rate;
}

// Drawn for the width of its room, so that letters keep their size on a small screen.
function curve(series, { goal, target }, allocation, room) {
  const width = Math.max(280, Math.min(640, room || 640));
  const [right, bottom] = [width - EDGE.right, HEIGHT - EDGE.bottom];
  const name = series.words.axis[goal];
  const words = goal === "efficiency" ? percent : figure;
  const shown = allocation ? allocation.threads : series.recommended_threads;
  const all = series.sizes.map((size) => ({ cores: size.cores, threads: size.threads, basis: size.basis, ...estimate(goal, series.work, size) }));
  const points = all.filter(({ threads }) => threads === shown);
  const others = [...new Set(all.map(({ threads }) => threads))].filter((threads) => threads !== shown);
  const wanted = goal === "hourly-budget" || goal === "cheapest" ? Infinity : target;
  const tallest = Math.max(...points.map((point) => point.high), ...all.map((point) => point.value));
  const top = 1.05 * (wanted < 2 * tallest ? Math.max(tallest, wanted) : tallest);
  const last = all[all.length - 1].cores;
  const x = (cores) => EDGE.left + ((cores - 1) / Math.max(1, last - 1)) * (right - EDGE.left);
  const y = (value) => bottom - (value / top) * (bottom - EDGE.top);
  const line = (some, bound) => some.map((point) => `${x(point.cores).toFixed(1)},${y(point[bound]).toFixed(1)}`);
  const across = (value, className) => svg("line", { class: className, x1: EDGE.left, x2: right, y1: y(value), y2: y(value) });

  const level = others.length ? `, ${shown} thread${shown > 1 ? "s" : ""} per core` : "";
  const label = `${series.label}: ${name} over cores${level}, with its 95 % band`;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const tick of ticks(top, 4)) {
    picture.append(across(tick, "axis"), svg("text", { x: EDGE.left - 8, y: y(tick) + 4, "text-anchor": "end" }, words(tick)));
  }
  for (const tick of [1, ...ticks(last, width / 80).filter((cores) => cores > 1 && Number.isInteger(cores))]) {
    picture.append(svg("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, String(tick)));
  }
  const inside = points.filter((point) => point.basis !== "beyond");
  for (const other of others) {
    const own = all.filter(({ threads }) => threads === other);
    const end = own[own.length - 1];
    const mark = { x: Math.min(x(end.cores), right - 2), y: y(end.value) - 3, "text-anchor": "end", class: "other" };
    picture.append(svg("polyline", { class: "middle other", points: line(own, "value").join(" ") }), svg("text", mark, `× ${other}`));
  }
  picture.append(
    svg("text", { x: 4, y: 12 }, name + level),
    svg("text", { x: right, y: HEIGHT - 3, "text-anchor": "end" }, "cores"),
    svg("polygon", { class: "band", points: [...line(points, "high"), ...line(points, "low").reverse()].join(" ") }),
    svg("polyline", { class: "middle", points: line(inside, "value").join(" ") }),
    svg("polyline", { class: "middle beyond", points: line(points.slice(Math.max(0, inside.length - 1)), "value").join(" ") }),
  );
  if (wanted <= top) picture.append(across(wanted, "goal"));
  const given = allocation && points.find((point) => point.cores === allocation.cores);
  if (given) picture.append(svg("circle", { class: "given", cx: x(given.cores), cy: y(given.value), r: 6 }));
  return picture;
}
