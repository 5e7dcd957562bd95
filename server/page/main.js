// The server's page: its tabs, and how it begins.

const TABS = ['translate', 'chat', 'search', 'inside', 'models', 'server'];

function showTab(name, focus) {
  for (const tab of TABS) {
    const chosen = tab === name;
    $('tab-' + tab).setAttribute('aria-selected', chosen);
    $('tab-' + tab).tabIndex = chosen ? 0 : -1;
    $('panel-' + tab).hidden = !chosen;
  }
  if (focus) $('tab-' + name).focus();
  $('tab-' + name).scrollIntoView({block: 'nearest', inline: 'nearest'});
  if (location.hash.slice(1) !== name) history.replaceState(null, '', '#' + name);
  document.title = `${$('tab-' + name).textContent} · Trivium`;
  showServer(name === 'server');
}

function startTabs() {
  for (const tab of TABS) $('tab-' + tab).addEventListener('click', () => showTab(tab));
  $('tabs').addEventListener('keydown', (event) => {
    const at = TABS.findIndex((tab) => 'tab-' + tab === event.target.id);
    const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1}[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    showTab(TABS[(to + TABS.length) % TABS.length], true);
  });
  window.addEventListener('hashchange', () => {
    if (TABS.includes(location.hash.slice(1))) showTab(location.hash.slice(1));
  });
}

// Returns the tab that a server of these models is mostly for.
function firstTab() {
  const asked = location.hash.slice(1);
  if (TABS.includes(asked)) return asked;
  return ['translate', 'chat', 'search'].find(
      (tab) => !$('tab-' + tab).classList.contains('empty')) || 'models';
}

async function start() {
  startTabs();
  startTranslate();
  startChat();
  startSearch();
  startInside();
  startModels();
  startServer();
  startCode();
  $('token-button').hidden = !tokenNow();
  $('token-button').addEventListener('click', async () => {
    if (await askForToken('Calls of this page are sent with it.')) begin();
  });
  begin();
}

async function begin() {
  try {
    await readModels();
    showTab(firstTab());
  } catch (error) {
    showTab('models');
    showError('models-error', error);
  }
  document.body.dataset.ready = 'yes';
}

start();
