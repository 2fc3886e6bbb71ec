// What every page does: groups of fields that follow a choice, tables a keyboard can scroll, and parts that stay new.
//
// A part is an element with data-live="name". `renew` asks the server for the same page once more and puts its parts in
// place of ours, so that words and numbers are made in one place only. All of it is optional: forms work without it.

const REST = 600_000; // after so long without a hand on the page it asks no more, so that sessions can end

let touched = performance.now();
for (const kind of ["pointerdown", "keydown", "wheel", "touchstart", "focus"]) {
  window.addEventListener(kind, () => { touched = performance.now(); }, { passive: true });
}

// Only the group that belongs to the chosen option is shown and sent.
function follow(select) {
  const box = select.closest(".choices");
  for (const group of box.querySelectorAll(":scope > [data-for]")) {
    const shown = group.dataset.for.split(" ").includes(select.value);
    group.hidden = !shown;
    for (const field of group.querySelectorAll("input, select, textarea")) field.disabled = !shown;
  }
}

export function choices(root = document) {
  for (const select of root.querySelectorAll(".choices > .field select[data-shows]")) {
    select.addEventListener("change", () => follow(select));
    follow(select);
  }
}

// A table that is wider than its place can be scrolled by keyboard.
export function reachable(root = document) {
  for (const place of root.querySelectorAll(".scroll")) {
    const wide = place.scrollWidth > place.clientWidth + 1;
    if (wide && !place.hasAttribute("tabindex")) {
      const caption = place.querySelector("caption");
      place.tabIndex = 0;
      place.setAttribute("role", "group");
      place.setAttribute("aria-label", caption ? caption.textContent : "A table");
    }
  }
}

export function announce(words) {
  const place = document.getElementById("announce");
  if (place) place.textContent = words;
}

// The parts of this page as they are now; one in which somebody works is left alone, unless it is theirs to change.
export async function renew() {
  const answer = await fetch(location.pathname + location.search, { credentials: "same-origin", headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return false;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
    if (!next || next.innerHTML === part.innerHTML || part.contains(document.activeElement)) continue;
    const place = document.adoptNode(next);
    part.replaceChildren(...place.childNodes);
    reachable(part);
  }
  return true;
}

// Ask again every so many seconds while the page is seen and used, until `ask` answers false. It may be slow: the next
// turn waits for it.
export function every(seconds, ask) {
  let busy = false;
  let over = false;
  const turn = async () => {
    if (busy || over || document.hidden || performance.now() - touched > REST) return;
    busy = true;
    try {
      over = (await ask()) === false;
    } catch {
      // the server was not reached: the next turn asks again
    } finally {
      busy = false;
    }
    if (over) clearInterval(timer);
  };
  const timer = setInterval(turn, 1000 * seconds);
  document.addEventListener("visibilitychange", turn);
}

choices();
reachable();
window.addEventListener("resize", () => reachable());
