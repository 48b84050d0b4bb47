// The theme: that of the system, or the reader's own choice, which the browser keeps.

const THEMES = { light: 'dark', dark: 'light' };

function currentTheme() {
  return document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

function switchTheme() {
  const theme = THEMES[currentTheme()];
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem('bigcodeflow-theme', theme);
  } catch (error) {
    if (error.name !== 'SecurityError') throw error; // a browser may keep nothing, above all for pages that are files
  }
  drawCharts();
}

function keptTheme() {
  try {
    return localStorage.getItem('bigcodeflow-theme');
  } catch (error) {
    if (error.name !== 'SecurityError') throw error;
    return null;
  }
}

if (keptTheme() in THEMES) document.documentElement.dataset.theme = keptTheme();
