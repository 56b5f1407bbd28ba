// In the head, before anything paints: a kept choice, else the system's.
(() => {
  const root = document.documentElement;
  let choice = 'system';
  try {
    choice = localStorage.getItem('vramwise.theme') || choice;
  } catch {
    // Storage may be switched off; the choice then lasts as long as the page.
  }
  root.dataset.choice = choice;
  root.dataset.theme =
    choice === 'system' ? (matchMedia('(prefers-color-scheme:dark)').matches ? 'dark' : 'light') : choice;
})();
