// A small figure of the planner: median and 95 % band over the available sizes, the target, and the size given.

const WIDEST = 640;
const NARROWEST = 280;
const HEIGHT = 230;
const EDGE = { left: 58, right: 14, top: 26, bottom: 36 };
const MOST_POINTS = 48;

function svg(name, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// The sizes to draw: all, or evenly chosen ones where they are many; the first, the last and the one given among them.
function drawnSizes(sizes, given) {
  const step = Math.max(1, (sizes.length - 1) / (MOST_POINTS - 1));
  const chosen = new Set(Array.from({ length: Math.min(sizes.length, MOST_POINTS) }, (_, index) => Math.round(index * step)));
  return sizes.filter((size, index) => chosen.has(index) || size.cores === given);
}

// A round number of steps that cover a range.
function ticks(most, wanted) {
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, index) => index * step);
}

const CURVES = {
  throughput: { axis: (unit) => `${unit}/s`, words: figure, estimate: (size) => size.rate },
  latency: {
    axis: (unit) => (unit === "items" ? "seconds per step" : "seconds per run"),
    words: figure,
    estimate: ({ rate }, work) => ({ value: work / rate.value, low: work / rate.high, high: work / rate.low }),
  },
  efficiency: { axis: () => "efficiency", words: percent, estimate: (size) => size.efficiency },
};

// Drawn for a width, so that its letters keep their size on a small screen.
function curve(series, question, offer, room) {
  const width = Math.max(NARROWEST, Math.min(WIDEST, room || WIDEST));
  const shown = CURVES[question.goal] ? question.goal : "throughput";
  const given = offer && offer.threads === 1 ? offer.cores : null;
  const points = drawnSizes(series.sizes, given).map((size) => ({ cores: size.cores, ...CURVES[shown].estimate(size, series.work) }));
  const wanted = question.goal === shown ? question.target : null;
  const tallest = Math.max(...points.map((point) => point.high));
  const top = Math.max(tallest, wanted !== null && wanted < 2 * tallest ? wanted : 0) * 1.05;
  const last = points[points.length - 1].cores;
  const x = (cores) => EDGE.left + ((cores - 1) / Math.max(1, last - 1)) * (width - EDGE.left - EDGE.right);
  const y = (value) => HEIGHT - EDGE.bottom - (Math.min(value, top) / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  const at = (point, name) => `${x(point.cores).toFixed(1)},${y(point[name]).toFixed(1)}`;

  const label = `${series.label}: ${CURVES[shown].axis(series.unit)} over cores, with its 95 % band`;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const tick of ticks(top, 4)) {
    picture.append(svg("line", { class: "axis", x1: EDGE.left, x2: width - EDGE.right, y1: y(tick), y2: y(tick) }));
    picture.append(svg("text", { x: EDGE.left - 8, y: y(tick) + 4, "text-anchor": "end" }, CURVES[shown].words(tick)));
  }
  for (const tick of [1, ...ticks(last, width / 80).filter((each) => each > 1 && Number.isInteger(each))]) {
    picture.append(svg("text", { x: x(tick), y: HEIGHT - EDGE.bottom + 18, "text-anchor": "middle" }, String(tick)));
  }
  picture.append(svg("text", { x: 4, y: 12 }, CURVES[shown].axis(series.unit)));
  picture.append(svg("text", { x: width - EDGE.right, y: HEIGHT - 3, "text-anchor": "end" }, "cores"));
  const outline = [...points.map((each) => at(each, "high")), ...points.map((each) => at(each, "low")).reverse()];
  picture.append(svg("polygon", { class: "band", points: outline.join(" ") }));
  const within = points.filter((each) => each.cores <= series.most_measured);
  const beyond = points.filter((each) => each.cores >= (within.length ? within[within.length - 1].cores : 0));
  const line = (some) => some.map((each) => at(each, "value")).join(" ");
  picture.append(svg("polyline", { class: "middle", points: line(within) }));
  if (beyond.length > 1) picture.append(svg("polyline", { class: "middle beyond", points: line(beyond) }));
  if (wanted !== null && wanted <= top) {
    picture.append(svg("line", { class: "goal", x1: EDGE.left, x2: width - EDGE.right, y1: y(wanted), y2: y(wanted) }));
  }
  const marked = points.find((each) => each.cores === given);
  if (marked) picture.append(svg("circle", { class: "given", cx: x(marked.cores), cy: y(marked.value), r: 6 }));
  return picture;
}
