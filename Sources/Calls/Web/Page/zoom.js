// The size of the picture in this window, which is the viewer's own affair: it fits, or is larger and moves.

import { follow, stopFollowing } from './follow.js';

const root = document.documentElement;
const $ = id => document.getElementById(id);
const stage = $('stage'), video = $('video');

const step = 1.25, most = 8;    // times the size that fits
const pinchStep = 40;           // a wheel that turns by less, with the control key, is a pinch on a touch pad
const tap = { longest: 250, farthest: 10 };                       // of one finger, in ms and pixels
const twoTaps = { longest: 350, farthest: 40 };

let size = 'fit';               // 'fit', 'actual', or CSS pixels for each pixel of the picture
// A film over a thin link is smaller for a while. It is shown at its former size.
let full = { width: 0, height: 0 };

const fitting = () => Math.min(stage.clientWidth / full.width, stage.clientHeight / full.height);
const actual = () => 1 / devicePixelRatio;
const scale = () => size === 'fit' ? fitting() : size === 'actual' ? actual() : size;

/// Where the picture begins in the window.
function origin() {
  const begin = (whole, part, scrolled) => part > whole ? -scrolled : (whole - part) / 2;
  return {
    x: begin(stage.clientWidth, full.width * scale(), stage.scrollLeft),
    y: begin(stage.clientHeight, full.height * scale(), stage.scrollTop),
  };
}

const center = () => ({ x: stage.clientWidth / 2, y: stage.clientHeight / 2 });

/// Shows the picture in a size, with the point of it at `to` that was at `from` before.
function zoom(wanted, from = center(), to = from) {
  const before = scale();
  if (!full.width || !Number.isFinite(wanted)) return;
  const { x, y } = origin(), point = { x: (from.x - x) / before, y: (from.y - y) / before };
  if (wanted > fitting() * 1.001) size = Math.min(wanted, Math.max(most * fitting(), 2 * actual()));
  else if (before > fitting()) size = 'fit';      // a picture that is smaller already stays as it is
  resize();
  if (size !== 'fit') stage.scrollTo(point.x * scale() - to.x, point.y * scale() - to.y);
}

/// The part of the picture that is seen: its first and last corner, each from 0 to 1.
export function seenPart() {
  if (!full.width) return { from: { x: 0, y: 0 }, to: { x: 1, y: 1 } };
  const { x, y } = origin(), [width, height] = [full.width * scale(), full.height * scale()];
  const at = (wanted, begin, length) => Math.min(1, Math.max(0, (wanted - begin) / length));
  return {
    from: { x: at(0, x, width), y: at(0, y, height) },
    to: { x: at(stage.clientWidth, x, width), y: at(stage.clientHeight, y, height) },
  };
}

// -- Following: the picture glides. Chromium's smooth scrolling does not move this stage.

let glide = null;               // the animation's next frame

/// Moves the picture so that a point of it, from 0 to 1, is in the middle, unless it is seen well already.
function show(point) {
  const { from, to } = seenPart();
  const isWithin = axis => Math.abs(point[axis] - (from[axis] + to[axis]) / 2) < (to[axis] - from[axis]) * 0.4;
  if (isWithin('x') && isWithin('y')) return;
  const end = (part, whole, seen) => Math.max(0, Math.min(part * whole * scale() - seen / 2, whole * scale() - seen));
  const left = end(point.x, full.width, stage.clientWidth), top = end(point.y, full.height, stage.clientHeight);
  let x = stage.scrollLeft, y = stage.scrollTop;
  const pace = matchMedia('(prefers-reduced-motion: reduce)').matches ? 1 : 0.2;
  cancelAnimationFrame(glide);
  glide = requestAnimationFrame(function step() {
    [x, y] = [x + (left - x) * pace, y + (top - y) * pace];
    stage.scrollTo(x, y);
    if (Math.hypot(left - x, top - y) > 1) glide = requestAnimationFrame(step);
  });
}

function stay() {
  stopFollowing();
  cancelAnimationFrame(glide);
}

function resize() {
  if (video.videoWidth > full.width) full = { width: video.videoWidth, height: video.videoHeight };
  const fits = size === 'fit' || !full.width;
  stage.tabIndex = fits ? -1 : 0;
  root.toggleAttribute('data-zoomed', !fits);
  video.style.width = fits ? '' : `${full.width * scale()}px`;
  video.style.height = fits ? '' : `${full.height * scale()}px`;
  $('scale').setAttribute('aria-pressed', size === 'actual');
  if (fits) {
    stay();
    isMoved = false;
  }
}

export function fit() {
  size = 'fit';
  resize();
}

/// Each pixel as large as one of the screen's, or the size that fits.
export function toggleActualSize() {
  size = size === 'actual' ? 'fit' : 'actual';
  resize();
}

/// Does what a key says. Returns whether it says anything.
export function zoomByKey({ key, shiftKey }) {
  const far = { x: stage.clientWidth / 8, y: stage.clientHeight / 8 };
  const moves = { ArrowLeft: [-far.x, 0], ArrowRight: [far.x, 0], ArrowUp: [0, -far.y], ArrowDown: [0, far.y] };
  if (key === '+' || key === '=') zoom(scale() * step);
  else if (key === '-') zoom(scale() / step);
  else if (key === '0') fit();
  else if (size !== 'fit' && moves[key] && !shiftKey) stage.scrollBy(...moves[key]);
  else return false;
  return true;
}

/// Whether a wheel turns evenly, as two fingers do it on a touch pad: these scroll.
const isEven = ({ deltaMode, deltaX, deltaY }) => deltaMode === 0 && (deltaX !== 0 || Math.abs(deltaY) < pinchStep);

stage.addEventListener('wheel', event => {
  if (event.shiftKey || isEven(event) && !event.ctrlKey) return;
  event.preventDefault();
  const steps = isEven(event) ? -event.deltaY / 25 : -Math.sign(event.deltaY);
  zoom(scale() * step ** steps, { x: event.clientX, y: event.clientY });
}, { passive: false });

// -- Fingers: two make the picture larger, one moves it, and two taps go there and back. A picture that fingers made larger follows the
// pointer until one of them moves it.

let isMoved = false;            // by a finger

let pinch = null;               // where two fingers were last, and how far from each other
let pinchedAt = -Infinity;
let touch = null;               // the begin of a touch by one finger
let lastTap = null;

const between = ([one, other]) => ({
  x: (one.clientX + other.clientX) / 2,
  y: (one.clientY + other.clientY) / 2,
  far: Math.max(1, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY)),
});

const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);

/// Whether a finger that is lifted now belongs to a pinch.
export const isPinching = () => performance.now() - pinchedAt < 500;

stage.addEventListener('touchstart', ({ touches, timeStamp }) => {
  const [{ clientX: x, clientY: y }] = touches;
  touch = touches.length === 1 ? { x, y, at: timeStamp } : null;
  pinch = touches.length === 2 ? between(touches) : null;
}, { passive: true });

stage.addEventListener('touchmove', event => {
  const [{ clientX: x, clientY: y }] = event.touches;
  if (size !== 'fit' && touch && distance(touch, { x, y }) >= tap.farthest) {
    stay();
    isMoved = true;
  }
  if (!pinch || event.touches.length !== 2) return;
  event.preventDefault();
  const before = pinch;
  pinch = between(event.touches);
  pinchedAt = performance.now();
  zoom(scale() * pinch.far / before.far, before, pinch);
}, { passive: false });

stage.addEventListener('touchend', event => {
  const [{ clientX: x, clientY: y }] = event.changedTouches, at = event.timeStamp;
  const isTap = touch && at - touch.at < tap.longest && distance(touch, { x, y }) < tap.farthest;
  const isSecond = isTap && lastTap && at - lastTap.at < twoTaps.longest && distance(lastTap, { x, y }) < twoTaps.farthest;
  lastTap = isTap && !isSecond ? { x, y, at } : null;
  const isPinch = pinch !== null;
  touch = pinch = null;
  if (isPinch && size !== 'fit' && !isMoved) follow(show);
  if (!isSecond || 'pointing' in root.dataset) return;
  if (event.cancelable) event.preventDefault();
  if (size !== 'fit') return fit();
  zoom(2.5 * fitting(), { x, y });
  follow(show);
}, { passive: false });

stage.addEventListener('touchcancel', () => { touch = pinch = lastTap = null; });

// A mouse drags a picture that is larger than the window.
stage.onpointermove = event => {
  if (event.pointerType === 'mouse' && event.buttons === 1) stage.scrollBy(-event.movementX, -event.movementY);
};

video.onresize = resize;
video.onemptied = () => { full = { width: 0, height: 0 }; };
addEventListener('resize', resize);     // zooming by the browser changes devicePixelRatio
