// Follows the pointer, and text that is being typed, in the decoded picture: a small thing that goes on moving. The sender has no part in it.

const video = document.getElementById('video');

const interval = 200;                       // ms between two looks
const width = 320, block = 4;               // of the small copy that is compared, in pixels
const contrast = 24;                        // the least difference of a changed pixel, of 255
const memory = 1500;                        // ms; carets and clocks change in one place, and again within this time
const soon = 600;                           // ms between two steps of one movement
const largest = { x: 0.4, y: 0.2 };         // parts of the picture; a page that turns is larger

const canvas = document.createElement('canvas');
const context = canvas.getContext('2d', { willReadFrequently: true });

let timer = null;
let pixels = null;                          // of the last look
let changedAt = new Float64Array();         // of each block
let knownAt = 0;                            // when carets and clocks are known
let last = null;                            // when the newest step was

/// Calls `show` with each place of what moves, from 0 to 1, until it is stopped.
export function follow(show) {
  stopFollowing();
  timer = setInterval(() => {
    const place = document.hidden || !video.videoWidth ? null : look(performance.now());
    if (place) show(place);
  }, interval);
}

export function stopFollowing() {
  clearInterval(timer);
  timer = pixels = last = null;
}

function look(now) {
  const height = Math.max(block, Math.round(width * video.videoHeight / video.videoWidth));
  if (canvas.width !== width || canvas.height !== height) {
    Object.assign(canvas, { width, height });
    pixels = null;
  }
  context.drawImage(video, 0, 0, width, height);
  const before = pixels;
  pixels = context.getImageData(0, 0, width, height).data;
  const columns = width / block, rows = Math.floor(height / block);
  if (!before) {
    changedAt = new Float64Array(columns * rows).fill(-Infinity);
    knownAt = now + memory;
    return null;
  }
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (!differs(before, column * block, row * block)) continue;
      const index = row * columns + column, isNew = now - changedAt[index] > memory;
      changedAt[index] = now;
      if (!isNew) continue;
      box.left = Math.min(box.left, column);
      box.right = Math.max(box.right, column + 1);
      box.top = Math.min(box.top, row);
      box.bottom = Math.max(box.bottom, row + 1);
    }
  }
  const size = { x: (box.right - box.left) / columns, y: (box.bottom - box.top) / rows };
  if (now < knownAt || !(size.x > 0) || size.x > largest.x || size.y > largest.y) return null;
  const isMovement = last !== null && now - last < soon;
  last = now;
  return isMovement ? { x: (box.left + box.right) / 2 / columns, y: (box.top + box.bottom) / 2 / rows } : null;
}

function differs(before, x, y) {
  for (let row = y; row < y + block; row++) {
    const begin = (row * width + x) * 4;
    for (let index = begin; index < begin + 4 * block; index++) {
      if (Math.abs(pixels[index] - before[index]) > contrast) return true;
    }
  }
  return false;
}
