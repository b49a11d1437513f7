// The time for which a viewer may stay. The page asks for more as long as somebody looks, and asks that person otherwise.

const root = document.documentElement;
const $ = id => document.getElementById(id);

const longestRest = 3600_000;   // ms without a touch, after which nobody may be there, though the page is in sight
const longestQuestion = 30;     // s
const longestSilence = 1800_000;        // ms: an invited viewer is gone after two hours without a request

let lease = null;               // `{ session, seconds, endsAt }`; null for a view without an end
let current = null;             // the session
let askedAt;                    // when it was asked for anything last
let touchedAt = performance.now();
let title = null;               // of the page, while it asks
let focused = null;             // what had the focus before

/// Notes how long a session lasts that has just begun.
export function beginLease(session) {
  [current, askedAt] = [session, performance.now()];
  const seconds = Number(session.response.headers.get('Oriel-Lease'));
  lease = seconds ? { session, seconds, endsAt: performance.now() + 1000 * seconds } : null;
  tick();
}

/// Seconds; null for a view without an end.
export const leaseLeft = () => lease && !lease.session.left ? Math.max(0, lease.endsAt - performance.now()) / 1000 : null;

/// A picture that is popped out is looked at from other windows, and whoever speaks is there.
export function isLookedAt() {
  if (document.pictureInPictureElement || root.dataset.talk === 'on') return true;
  return document.visibilityState === 'visible' && performance.now() - touchedAt < longestRest;
}

function tick() {
  if (current && !current.left && performance.now() - askedAt > longestSilence) {
    askedAt = performance.now();
    current.link();
  }
  const left = leaseLeft();
  if (left === null) return ask(false);
  const { seconds } = lease;
  // Before programs of the sender are told of the end.
  if (isLookedAt() && left < Math.max(seconds / 2, Math.min(40, 0.8 * seconds))) extend(lease).catch(() => {});
  ask(!isLookedAt() && left < Math.min(longestQuestion, seconds / 2));
}

function ask(isAsking) {
  if ($('lease').hidden !== isAsking) return;
  $('lease').hidden = !isAsking;
  if (isAsking) {
    [title, focused] = [document.title, document.activeElement];
    document.title = $('lease-question').textContent;       // the page may be hidden behind another
    $('stay').focus();
  } else {
    document.title = title;
    focused?.focus();
  }
}

async function extend(mine) {
  if (mine.isAsking) return;
  mine.isAsking = true;
  try {
    const { seconds } = await mine.session.extend(mine.seconds);
    mine.endsAt = performance.now() + 1000 * seconds;
  } finally {
    mine.isAsking = false;
  }
}

export function setUpLease() {
  const touch = () => { touchedAt = performance.now(); };
  for (const kind of ['pointermove', 'pointerdown', 'keydown', 'wheel']) {
    // What answers the question ends it when it is done, as by a click.
    addEventListener(kind, ({ target }) => { if (!$('lease').contains(target)) touch(); }, { passive: true });
  }
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    touch();
    tick();
  });
  $('stay').onclick = () => {
    touch();
    tick();
  };
  setInterval(tick, 1000);
}
