// Sound without delay. If an element does not play, sound waits in the browser's buffer, and all later sound waits
// behind it.

/// Plays an element. It is muted if sound is unwanted, or if the browser allows sound only after a click. Resolves to
/// whether it waits for that click.
export async function play(element, wanted = true) {
  element.muted = !wanted;
  try {
    await element.play();
    return false;
  } catch ({ name }) {
    if (name !== 'NotAllowedError') return false;
  }
  element.muted = true;
  element.play().catch(() => {});
  return true;
}

/// The sound's mean wait since an earlier report of `getStats`, and the browser's target, in milliseconds; NaN if
/// nothing was played, or if unknown.
export function buffered(inbound, before) {
  const since = key => inbound[key] - (before[key] ?? 0);
  const mean = key => 1000 * since(key) / since('jitterBufferEmittedCount');
  return { buffer: mean('jitterBufferDelay'), target: mean('jitterBufferTargetDelay') };
}

// In milliseconds. Without a backlog, the mean of Chromium's buffer is some 30 below its target. A browser without a
// target may need more than `usualBuffer`.
const packet = 20, lowBuffer = -10, usualBuffer = 60, bearableExcess = 80, longExcess = 200;
let skippedUntil = 0;       // the instant at which the buffer shows the last skip

/// The sound to skip now, in milliseconds; null for none. Browsers shorten speech and silence, and never music or
/// noise. Skipping one packet leaves no gap. A long excess would take too many skips, and goes at once.
export function excess(buffer, target) {
  const length = Math.min(buffer - (target || usualBuffer), 5000), now = performance.now();
  if (!(length > (target ? lowBuffer : bearableExcess)) || now < skippedUntil) return null;
  // The buffer's content is played first, and the figure is the mean of a second.
  skippedUntil = now + buffer + 2000;
  return length > longExcess ? Math.round(length) : packet;
}
