/* The page of symfs serve works without this script. It adds: buttons that copy, Enter that sends a short search, and
 * parts that renew themselves while the page is in view. SPDX-License-Identifier: LGPL-2.1-or-later */
"use strict";

function addCopyButtons(root) {
  if (!navigator.clipboard) return;
  for (const figure of root.querySelectorAll("figure.lines")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(figure.querySelector("pre").textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    figure.querySelector("figcaption").append(button);
  }
}

function sendOnEnter(area) {
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || area.value.includes("\n")) return;
    event.preventDefault();
    area.form.requestSubmit();
  });
}

/* Fetches the same page again, and replaces the parts that are marked. */
async function renew() {
  const parts = document.querySelectorAll("[data-live]");
  if (parts.length === 0 || document.hidden) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts) {
    const next = document.getElementById(part.id);
    const now = fresh.getElementById(part.id);
    if (next && now && next.innerHTML !== now.innerHTML && !next.contains(document.activeElement))
      next.replaceWith(now);
  }
}

addCopyButtons(document);
document.querySelectorAll("textarea").forEach(sendOnEnter);
if (document.querySelector("[data-live]")) setInterval(() => { renew().catch(() => {}); }, 5000);
