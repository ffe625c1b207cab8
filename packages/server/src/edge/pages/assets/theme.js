// Light or dark: the system's choice until the reader makes one.
const THEME_KEY = 'gimbal-theme';

function storedTheme() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null;
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // A browser that stores nothing forgets the choice.
  }
}

function switchTheme() {
  const { dataset } = document.documentElement;
  const isDark = dataset.theme
    ? dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  dataset.theme = isDark ? 'light' : 'dark';
  storeTheme(dataset.theme);
}

const chosenTheme = storedTheme();
if (chosenTheme === 'light' || chosenTheme === 'dark') document.documentElement.dataset.theme = chosenTheme;
document.getElementById('theme').addEventListener('click', switchTheme);
for (const origin of document.querySelectorAll('[data-origin]')) origin.textContent = location.origin;
