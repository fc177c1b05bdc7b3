// Light or dark: as the reader's system has it, until the button says otherwise.

const theme = (() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  function dark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  }

  function name() {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Show this page light" : "Show this page dark");
  }

  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();
  return { dark };
})();
