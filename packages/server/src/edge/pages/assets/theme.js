'use strict';
// Light or dark: the system's choice until the reader makes one.
(() => {
  const root = document.documentElement;
  const stored = (() => {
    try {
      return localStorage.getItem('gimbal-theme');
    } catch {
      return null;
    }
  })();
  if (stored === 'light' || stored === 'dark') root.dataset.theme = stored;
  document.getElementById('theme').addEventListener('click', () => {
    const isDark = root.dataset.theme
      ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = isDark ? 'light' : 'dark';
    try {
      localStorage.setItem('gimbal-theme', root.dataset.theme);
    } catch {
      // A browser that stores nothing forgets the choice.
    }
  });
  for (const origin of document.querySelectorAll('[data-origin]')) origin.textContent = location.origin;
})();
