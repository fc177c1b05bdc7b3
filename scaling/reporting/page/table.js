// The table of points: sorted by its headers, filtered by text and by validity. Without this it is a plain table.

const sorting = (() => {
  const table = document.getElementById("points-table");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const headers = Array.from(table.tHead.rows[0].cells);
  const sieve = document.getElementById("sieve");
  const text = document.getElementById("sieve-text");
  const validOnly = document.getElementById("sieve-valid");
  const counted = document.getElementById("sieve-count");
  const natural = new Intl.Collator("en", { numeric: true });

  // A cell that stands for a number is compared by it, others as text; what was not measured comes last either way.
  function key(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    const words = cell.textContent.trim();
    return words === "-" || words === "" ? null : words;
  }

  function compared(one, other, down) {
    if (one === null || other === null) return (one === null) - (other === null);
    const order = typeof one === "number" && typeof other === "number" ? one - other : natural.compare(one, other);
    return down ? -order : order;
  }

  function sort(column) {
    const header = headers[column];
    const down = header.getAttribute("aria-sort") === "ascending";
    headers.forEach((each) => each.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = rows.map((row, place) => [key(row, column), place, row]);
    keyed.sort((one, other) => compared(one[0], other[0], down) || one[1] - other[1]);
    body.append(...keyed.map((each) => each[2]));
  }

  function filter() {
    const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const said = row.textContent.toLowerCase();
      const kept = wanted.every((word) => said.includes(word)) && (!validOnly.checked || row.dataset.valid === "yes");
      row.hidden = !kept;
      shown += kept;
    }
    counted.textContent = `${shown} of ${rows.length} rows`;
  }

  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(column));
    header.append(button);
    header.setAttribute("aria-sort", "none");
  });
  sieve.addEventListener("submit", (event) => event.preventDefault());
  text.addEventListener("input", filter);
  validOnly.addEventListener("change", filter);
  sieve.hidden = false;
  filter();
  return { sort, filter };
})();
