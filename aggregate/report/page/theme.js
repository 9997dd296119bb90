/* Light or dark: as the system has it, or as the button of the page chose. Of both pages. */
'use strict';

const Theme = {
  system: matchMedia('(prefers-color-scheme: dark)'),

  dark() {
    const chosen = State.get('theme', '');
    return chosen ? chosen === 'dark' : Theme.system.matches;
  },
  /* draw: when the system changes; a click changes the address, whose listeners draw. */
  start(draw) {
    const button = document.getElementById('theme');
    button.hidden = false;
    button.onclick = () => State.set({theme: Theme.dark() ? 'light' : 'dark'});
    Theme.system.addEventListener('change', draw);
    Theme.apply();
  },
  apply() {
    const button = document.getElementById('theme');
    document.documentElement.dataset.theme = Theme.dark() ? 'dark' : 'light';
    button.textContent = Theme.dark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', Theme.dark() ? 'Switch to light colours' : 'Switch to dark colours');
  },
};
