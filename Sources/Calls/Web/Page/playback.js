// Sound without delay: what nobody plays waits in the browser's buffer, and all that comes later waits behind it.

/// Plays an element; without its sound, if that is not wanted, or where the browser lets a page sound only after a click. Resolves
/// to whether it waits for that click.
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

/// How long sound has waited since an earlier report of `getStats`, and how long the browser wants it to, in milliseconds; NaN if
/// nothing was played, or the browser does not tell.
export function buffered(inbound, before) {
  const since = key => inbound[key] - (before[key] ?? 0);
  const mean = key => 1000 * since(key) / since('jitterBufferEmittedCount');
  return { buffer: mean('jitterBufferDelay'), target: mean('jitterBufferTargetDelay') };
}

// In milliseconds. The mean of Chromium's buffer is some 30 below its target where nothing has piled up. A browser that tells no
// target may need more than `usualBuffer`.
const packet = 20, lowBuffer = -10, usualBuffer = 60, bearableExcess = 80, longExcess = 200;
let skippedUntil = 0;       // until when what was left out has not yet shown in the buffer

/// How much of the buffer to have left out now, in milliseconds; null for nothing. Browsers shorten speech and silence, and never
/// music or noise. One packet at a time is left out without a gap; a long excess would take too many, and goes at once.
export function excess(buffer, target) {
  const length = Math.min(buffer - (target || usualBuffer), 5000), now = performance.now();
  if (!(length > (target ? lowBuffer : bearableExcess)) || now < skippedUntil) return null;
  // What the buffer holds is played first, and the figure is that of a second.
  skippedUntil = now + buffer + 2000;
  return length > longExcess ? Math.round(length) : packet;
}
