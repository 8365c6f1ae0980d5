// Says on the page that its changes do not arrive, once that lasts, and asks for them again until they do.
(() => {
  "use strict";
  const LASTS = 2000, AGAIN = 5000;
  let saying;
  const show = cut => document.querySelectorAll(".cut").forEach(note => { note.hidden = !cut; });
  const cut = () => { saying ??= setTimeout(() => show(true), LASTS); };
  const whole = () => { clearTimeout(saying); saying = undefined; show(false); };
  document.addEventListener("htmx:sse:after:connection", whole);
  document.addEventListener("htmx:sse:error", cut);
  document.addEventListener("htmx:sse:before:connection", event => { if (event.detail.connection.attempt > 0) cut(); });
  // The extension tries again only where a first connection was made.
  document.addEventListener("htmx:finally:request", event => {
    const from = event.target, url = from.getAttribute?.("hx-sse:connect");
    if (!url || event.detail.ctx.response?.raw?.ok) return;
    cut();
    setTimeout(() => { if (from.isConnected && !from._htmx?.sse) htmx.ajax("GET", url, { source: from }); }, AGAIN);
  });
})();
