// Light or dark: as the reader's system has it, until the button says otherwise.
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
