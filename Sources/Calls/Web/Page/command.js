// The panel of commands: they change the picture that all see, or reach the person who shares. Viewers with the right have it.

import { pause, within } from './time.js';
import { fit, seenPart } from './zoom.js';

const root = document.documentElement;
const $ = id => document.getElementById(id);
const stage = $('stage'), video = $('video');

/// The choices of the panel, by the names of their commands.
const choices = { source: $('source'), legibility: $('legibility'), status_frame: $('status-frame'), chime: $('chime') };
const pointed = 0.12;           // the size of what is pointed at, as a part of the picture's height
const click = 5;                // pixels; a pointer that moves farther moves the picture

let session = null;
let capabilities = {};
let viewport = null;            // the part of the source that all see; null for the whole
let legibility = 'off';
let page;                       // its functions `attempt`, which tells of a failure, and `say`

/// Learns what this viewer may command.
export async function findCommands(its) {
  session = its;
  for (let tries = 0; tries < 3 && its === session && !its.left; ++tries) {
    try {
      await refresh();
      return;
    } catch {
      await pause(1000);
    }
  }
}

async function refresh() {
  const asked = session;
  const found = await (await within(10_000, asked.sender.request('capabilities'))).json();
  if (asked !== session) return;
  const offers = ({ may, commands = {} }) => JSON.stringify([may, Object.keys(commands), commands.source?.names, commands.chime?.names]);
  const isNews = offers(found) !== offers(capabilities);
  capabilities = found;
  if (isNews) showCommands();
  showChosen();
}

/// Shows the present choices, also those of others.
function showChosen() {
  const { source, status_frame: frame, legibility: present } = capabilities.commands ?? {};
  choices.source.value = source?.selected ?? '';
  choices.status_frame.value = frame?.selected ?? '';
  choices.legibility.value = present?.selected ?? legibility;
  choices.chime.value = '';
}

/// Learns from the events what others have changed.
export function noteView(event) {
  viewport = event.viewport ?? null;
  const known = event.legibility ?? 'off';
  if (known !== legibility) choices.legibility.value = legibility = known;
}

function showCommands() {
  const can = capabilities.may?.includes('controls') ? capabilities.commands : {};
  for (const [name, choice] of Object.entries(choices)) choice.parentElement.hidden = !can[name];
  $('part').hidden = !can.viewport;
  $('pointing').hidden = !can.highlight;
  $('message').hidden = !can.message;
  choices.source.replaceChildren(new Option('Choose…', ''), ...(can.source?.names ?? []).map(name => new Option(name)));
  const sounds = (can.chime?.names ?? []).map((name, index) => new Option(name, index + 1));
  choices.chime.replaceChildren(new Option('Choose…', ''), ...sounds);
  $('message-text').maxLength = can.message?.characters[1] ?? 0;
  $('command').hidden = !Object.keys(can).length;
  if (!can.highlight) point(false);
  if ($('command').hidden) closeCommands();
}

export function closeCommands() {
  if ($('command-panel').contains(document.activeElement)) $('command').focus();
  $('command-panel').hidden = true;
  $('command').setAttribute('aria-expanded', false);
}

/// Shows or hides the panel.
export function toggleCommands() {
  point(false);
  $('command-panel').hidden = !$('command-panel').hidden;
  if (!$('command-panel').hidden) refresh().catch(() => {});     // what others have chosen meanwhile
}

// -- Places: the source lies in the middle of the picture, as large as its shape allows.

/// The part of the source that is shown, in its pixels, and its place in the picture.
async function shownSource() {
  await refresh();      // it may have another size by now
  const { source } = capabilities.commands.viewport;
  if (!source || !video.videoWidth) throw new Error('There is no picture.');
  const [width, height] = source;
  const [left, top, right, bottom] = viewport ?? [0, 0, width, height];
  let part = { x: left, y: top, width: Math.min(right, width) - left, height: Math.min(bottom, height) - top };
  // A part that is not in this source shows all of it.
  if (part.width <= 0 || part.height <= 0) part = { x: 0, y: 0, width, height };
  const scale = Math.min(video.videoWidth / part.width, video.videoHeight / part.height);
  return {
    ...part, scale, whole: { width, height },
    left: (video.videoWidth - part.width * scale) / 2,
    top: (video.videoHeight - part.height * scale) / 2,
  };
}

/// The place in the source of one in the picture, which is from 0 to 1. It may be outside.
const sourceAt = (shown, { x, y }) => ({
  x: shown.x + (x * video.videoWidth - shown.left) / shown.scale,
  y: shown.y + (y * video.videoHeight - shown.top) / shown.scale,
});

/// A length and its begin, within another one, and no shorter than `least` where there is room.
function fitted(begin, length, first, whole, least) {
  const long = Math.round(Math.min(Math.max(length, least), whole));
  return [Math.round(Math.min(Math.max(begin + (length - long) / 2, first), first + whole - long)), long];
}

/// The part of the source that is seen here; null for the whole.
async function seenSource() {
  const shown = await shownSource(), { from, to } = seenPart();
  const [first, last] = [sourceAt(shown, from), sourceAt(shown, to)];
  const [leastWidth, leastHeight] = capabilities.commands.viewport.least;
  const [x, y] = [Math.max(first.x, shown.x), Math.max(first.y, shown.y)];
  const [right, bottom] = [Math.min(last.x, shown.x + shown.width), Math.min(last.y, shown.y + shown.height)];
  const [left, width] = fitted(x, right - x, 0, shown.whole.width, leastWidth);
  const [top, height] = fitted(y, bottom - y, 0, shown.whole.height, leastHeight);
  const isWhole = width >= shown.whole.width && height >= shown.whole.height;
  return isWhole ? null : [left, top, left + width, top + height];
}

// -- Pointing

function point(isPointing) {
  root.toggleAttribute('data-pointing', isPointing);
}

export const isPointing = () => 'pointing' in root.dataset;

export function stopPointing() {
  point(false);
}

/// The place of the picture at a place in the window, from 0 to 1.
function pictureAt({ clientX, clientY }) {
  const box = video.getBoundingClientRect();
  const scale = Math.min(box.width / video.videoWidth, box.height / video.videoHeight);
  const left = box.x + (box.width - video.videoWidth * scale) / 2, top = box.y + (box.height - video.videoHeight * scale) / 2;
  return { x: (clientX - left) / (video.videoWidth * scale), y: (clientY - top) / (video.videoHeight * scale) };
}

async function pointAt(place) {
  const shown = await shownSource(), { x, y } = sourceAt(shown, place);
  if (x < shown.x || y < shown.y || x >= shown.x + shown.width || y >= shown.y + shown.height) return;
  const size = Math.max(8, shown.height * pointed);
  const [left, width] = fitted(x - size / 2, size, shown.x, shown.width, 1);
  const [top, height] = fitted(y - size / 2, size, shown.y, shown.height, 1);
  await session.command({ highlight: [left, top, width, height] });
}

// -- The panel

export function setUpCommands(itsPage) {
  page = itsPage;
  for (const [name, choice] of Object.entries(choices)) {
    choice.onchange = async () => {
      const { value } = choice;
      const wish = name === 'chime' ? { play: Number(value) } : value;
      if (value) await page.attempt(() => session.command({ [name]: wish }));
      await refresh().catch(showChosen);
    };
  }
  $('show-part').onclick = () => page.attempt(async () => {
    await session.command({ viewport: await seenSource() });
    fit();
  });
  $('show-whole').onclick = () => page.attempt(() => session.command({ viewport: null }));
  $('point').onclick = () => {
    closeCommands();
    point(true);
    page.say('Click what you point at. Escape ends it.');
  };
  $('point-middle').onclick = () => page.attempt(() => {
    const { from, to } = seenPart();
    return pointAt({ x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 });
  });
  let pressed = null;
  stage.addEventListener('pointerdown', ({ clientX, clientY }) => { pressed = { clientX, clientY }; });
  stage.addEventListener('click', event => {
    const moved = pressed && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY);
    if (isPointing() && 'picture' in root.dataset && moved <= click) page.attempt(() => pointAt(pictureAt(event)));
  });
  $('message').onsubmit = event => {
    event.preventDefault();
    const field = $('message-text'), text = field.value.trim();
    if (!text) return;
    field.value = '';
    page.attempt(async () => {
      try {
        await session.command({ message: text });
      } catch (failure) {
        field.value ||= text;
        throw failure;
      }
      page.say('Your message was sent.');
    });
  };
}
