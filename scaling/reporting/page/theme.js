// Light or dark as in the reader's system, until the button changes it.
{
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const other = () => ((root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark" ? "light" : "dark");

  function name() {
    button.textContent = other() === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Show this page ${other()}`);
  }

  button.addEventListener("click", () => {
    root.dataset.theme = other();
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();
}
