// The form for asking to be let in, and the wait for an answer. The page shows each by its state.

const $ = id => document.getElementById(id);
let clock;

/// - ask: called with `{ name, note }`.
/// - cancel: called when the person gives up waiting.
export function setUpKnock({ ask, cancel }) {
  $('knock').onsubmit = event => {
    event.preventDefault();
    const [name, note] = ['name', 'note'].map(id => $(id).value.trim());
    ask({ name, note });
    count(name);
    $('cancel').focus();
  };
  $('cancel').onclick = () => {
    cancel();
    $('name').focus();
  };
}

/// Shows the time of waiting while the page's state is `asking`.
export function count(name) {
  const since = Date.now();
  const tell = () => {
    const seconds = Math.round((Date.now() - since) / 1000);
    $('waited').textContent = `${name} · ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    if (document.documentElement.dataset.state !== 'asking') clearInterval(clock);
  };
  clearInterval(clock);
  clock = setInterval(tell, 1000);
  tell();
}
