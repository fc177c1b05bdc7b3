// The table of points, sorted by its headers and filtered by text and validity; without a script, a plain table.

{
  const table = document.getElementById("points-table");
  const rows = Array.from(table.tBodies[0].rows);
  const headers = Array.from(table.tHead.rows[0].cells);
  const form = document.getElementById("filter");
  const text = document.getElementById("filter-text");
  const validOnly = document.getElementById("filter-valid");
  const natural = new Intl.Collator("en", { numeric: true });

  // Cells compare by number or as text; cells that were not measured come last in both directions.
  function key(row, column) {
    const { dataset, textContent } = row.cells[column];
    if (dataset.value !== undefined) return Number(dataset.value);
    return ["-", ""].includes(textContent.trim()) ? null : textContent.trim();
  }

  function compare(one, other, down) {
    if (one === null || other === null) return (one === null) - (other === null);
    const order = typeof one === "number" && typeof other === "number" ? one - other : natural.compare(one, other);
    return down ? -order : order;
  }

  function sort(column) {
    const down = headers[column].getAttribute("aria-sort") === "ascending";
    headers.forEach((header) => header.setAttribute("aria-sort", "none"));
    headers[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const ordered = [...rows].sort((one, other) => compare(key(one, column), key(other, column), down));
    table.tBodies[0].append(...ordered);
  }

  function filter() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const content = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => content.includes(word)) || (validOnly.checked && row.dataset.valid !== "yes");
    }
    document.getElementById("filter-count").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  }

  headers.forEach((header, column) => {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(column));
    header.append(button);
    header.setAttribute("aria-sort", "none");
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  form.hidden = false;
  filter();
}
