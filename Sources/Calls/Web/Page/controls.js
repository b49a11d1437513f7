// The buttons and keys, and their panels.

import { isPointing, setUpCommands, stopPointing, toggleCommands } from './command.js';
import { keep } from './record.js';
import { Refusal } from './sender.js';
import { listSpeakers, toggleSound } from './sound.js';
import { toggleStatistics } from './statistics.js';
import { listMicrophones, toggleTalk } from './talk.js';
import { isPinching, toggleActualSize, zoomByKey } from './zoom.js';

const root = document.documentElement;
const $ = id => document.getElementById(id);
const stage = $('stage'), video = $('video'), controls = $('controls');

/// The page's functions for the controls: `say`, `request`, `stats`, `link`, `leaseLeft`, `people` and `viewers`.
let page;

export function setUpControls(itsPage) {
  page = itsPage;
  setUpCommands({ attempt, say: page.say });
}

const press = (id, pressed) => $(id).setAttribute('aria-pressed', pressed);
const panels = { statistics: $('panel'), devices: $('device-panel'), command: $('command-panel') };
const expand = id => $(id).setAttribute('aria-expanded', !panels[id].hidden);

function close(id) {
  panels[id].hidden = true;
  expand(id);
}

const actions = {
  scale: toggleActualSize,
  async fullscreen() {
    if (document.fullscreenElement) await document.exitFullscreen();
    else if (root.requestFullscreen) await root.requestFullscreen();
    else video.webkitEnterFullscreen();     // iPhones let only the video fill the screen
  },
  async pip() {
    if (document.pictureInPictureElement) await document.exitPictureInPicture();
    else if (document.pictureInPictureEnabled) await video.requestPictureInPicture();
  },
  statistics() {
    const shown = toggleStatistics(async () => {
      const [stats, link] = await Promise.all([page.stats(), page.link()]);
      return { ...stats, ...link, viewers: page.viewers(), people: page.people(), leaseLeft: page.leaseLeft() };
    });
    expand('statistics');
    return shown;
  },
  sound: toggleSound,
  talk: toggleTalk,
  async devices() {
    panels.devices.hidden = !panels.devices.hidden;
    expand('devices');
    close('command');
    if (panels.devices.hidden) return;
    const devices = await navigator.mediaDevices?.enumerateDevices() ?? [];
    await Promise.all([listSpeakers(devices), listMicrophones(devices)]);
  },
  command() {
    close('devices');
    toggleCommands();
    expand('command');
  },
  async keep() { page.say(await keep()); },
  async snapshot() {
    const response = await page.request('snapshot.png');
    const anchor = document.createElement('a');
    anchor.href = URL.createObjectURL(await response.blob());
    anchor.download = `oriel-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.png`;
    anchor.click();
    setTimeout(URL.revokeObjectURL, 10_000, anchor.href);
  },
};

const perform = action => attempt(actions[action]);

async function attempt(action) {
  try {
    await action();
  } catch (failure) {
    page.say(failure instanceof Refusal && failure.message || 'That did not work.');
  }
}

const keys = { 1: 'scale', f: 'fullscreen', p: 'pip', s: 'statistics', c: 'snapshot', r: 'keep', m: 'sound', o: 'command', t: 'talk' };
addEventListener('keydown', event => {
  const action = keys[event.key.toLowerCase()];
  if (event.key === 'Escape') {
    closePanels();
    stopPointing();
  }
  if (event.target.closest?.('input, select, [role=alertdialog]') || event.ctrlKey || event.metaKey || event.altKey) return;
  if (action && !$(action).hidden && !event.repeat) perform(action);
  else if (zoomByKey(event)) event.preventDefault();
});

function closePanels() {
  for (const [id, panel] of Object.entries(panels)) {
    if (panel.hidden) continue;
    if (panel.contains(document.activeElement)) $(id).focus();
    perform(id);
  }
}

for (const button of controls.children) button.onclick = () => perform(button.id);
stage.ondblclick = () => { if (!touched && !isPointing()) perform('fullscreen'); };

$('pip').hidden = !document.pictureInPictureEnabled;
document.onfullscreenchange = () => press('fullscreen', document.fullscreenElement !== null);
video.onenterpictureinpicture = () => press('pip', true);
video.onleavepictureinpicture = () => press('pip', false);

// The controls disappear when the mouse rests. On touch screens they stay until a tap on the picture.
let rest, touched = matchMedia('(hover: none)').matches;

function stir() {
  delete root.dataset.idle;
  clearTimeout(rest);
  if (!touched) rest = setTimeout(settle, 2500);
}

function settle() {
  if (!controls.querySelector(':focus-visible') && !controls.matches(':hover')) root.dataset.idle = '';
}

addEventListener('pointermove', event => {
  if (event.pointerType === 'touch') return;
  touched = false;
  stir();
});
stage.onpointerup = event => {
  if (event.pointerType !== 'touch' || isPinching() || isPointing()) return;
  touched = true;
  const idle = 'idle' in root.dataset;
  stir();
  if (!idle) root.dataset.idle = '';
};
controls.addEventListener('focusin', stir);
controls.addEventListener('focusout', stir);
stir();
