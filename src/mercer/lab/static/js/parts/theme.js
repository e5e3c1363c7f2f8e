// Light, dark, or as the system has it. The choice is remembered for all tabs, where the browser lets it.

import { html, useEffect, useState } from "../../vendor/preact.js";

const KEY = "mercer-lab/theme";

function remembered() {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto";
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Forbidden: the choice lasts as long as the page.
  }
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(remembered);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    remember(theme);
  }, [theme]);
  return html`<select class="theme" aria-label="Theme" value=${theme} onChange=${(event) => setTheme(event.target.value)}>
    <option value="auto">auto</option>
    <option value="light">light</option>
    <option value="dark">dark</option>
  </select>`;
}
