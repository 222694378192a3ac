// Light, dark, or as the system has it: the reader's choice, kept in this browser.
import { signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORE = "footnote.theme";
const stored = localStorage.getItem(STORE);

export const theme = signal<Theme>(THEMES.find((one) => one === stored) ?? "system");
theme.subscribe((value) => {
  document.documentElement.style.colorScheme = value === "system" ? "" : value;
});

export function choose(value: Theme): void {
  localStorage.setItem(STORE, value);
  theme.value = value;
}
