"use strict";
const $ = (id) => document.getElementById(id);

/* A new element; attributes that are functions or booleans are set as properties. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("--")) made.style.setProperty(key, value);
    else if (typeof value === "function" || typeof value === "boolean") made[key] = value;
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const fill = (id, children) => $(id).replaceChildren(...children);
const hue = (index) => (index * 137.5 + 255) % 360; /* the golden angle: neighbours differ most */
const percent = (share) => 100 * share + "%";

/* Stands in for a list that the filters leave empty; its button clears them. */
function nothing(name, search) {
  const clear = () => {
    for (const one of document.querySelectorAll(".filters :is(select, input)")) {
      one.checked = false;
      if (one.type === "search" || one.querySelector('option[value=""]')) one.value = "";
    }
    search();
  };
  return element("p", {id: "nothing"}, `No matching ${name}s. `, element("button", {onclick: clear}, "Clear filters"));
}

/* What the page's data has in it. */
const read = (script) => JSON.parse(script.textContent);

/* Light, dark, or what the system prefers; kept for the next page where that is allowed. */
function setTheme(theme) {
  document.documentElement.style.colorScheme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* storage is blocked: not kept */ }
}

function toggleTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const now = document.documentElement.style.colorScheme || system;
  setTheme(now === "dark" ? "light" : "dark");
}

try {
  document.documentElement.style.colorScheme = localStorage.getItem("theme") ?? "";
} catch { /* storage is blocked: as the system prefers */ }
