// The panel of statistics: five rows for everybody, and further ones on demand.

const panel = document.getElementById('panel');

const unit = (number, name, digits = 0) => Number.isFinite(number) ? `${number.toFixed(digits)} ${name}` : '–';
const percent = ratio => unit(Number.isFinite(ratio) ? ratio * 100 : null, '%', 1);
const mega = rate => unit(Number.isFinite(rate) ? rate / 1e6 : null, 'Mb/s', 2);

const main = {
  'Resolution': s => s.frameWidth ? `${s.frameWidth} × ${s.frameHeight}` : '–',
  'Frame rate': s => unit(s.fps, 'fps'),
  'Bitrate': s => mega(s.bitrateBps),
  'Delay': s => unit(s.pictureAgeMs, 'ms'),
  'Loss': s => percent(s.lossRatio),
};
const more = {
  'Codec': s => s.codec ?? '–',
  'Target': s => mega(s.target_bps),
  'Link': s => mega(s.estimate_bps),
  'Waiting': s => unit(s.queue_ms, 'ms'),
  'Quantizer': s => s.quantizer ?? '–',
  'Rendition': s => s.rendition ?? '–',
  'Limit': s => s.limit ?? '–',
  'Round trip': s => unit(s.rttMs, 'ms'),
  'Jitter buffer': s => unit(s.jitterBufferDelayMs, 'ms'),
  'Freezes': s => s.freezeCount ?? '–',
  'Sound': s => unit(s.soundPackets ? s.soundBitrateBps / 1e3 : null, 'kb/s'),
  'Sound level': s => unit(s.soundLevel > 0 ? 20 * Math.log10(s.soundLevel) : null, 'dB'),
  'Sound buffer': s => unit(s.soundBufferMs, 'ms'),
  'Sound loss': s => percent(s.soundLossRatio),
  'Concealed': s => percent(s.soundConcealedRatio),
  'Viewers': s => s.viewers ?? '–',
  'Here': s => s.people?.join(', ') || '–',
  'Time left': s => unit(s.leaseLeft, 's'),
};

function addRow(list, name) {
  const term = document.createElement('dt'), cell = document.createElement('dd');
  term.textContent = name;
  list.append(term, cell);
  return cell;
}

function fill(list, rows) {
  return Object.entries(rows).map(([name, format]) => {
    const cell = addRow(list, name);
    return current => { cell.textContent = format(current); };
  });
}

const lists = panel.querySelectorAll('dl');
const cells = [...fill(lists[0], main), ...fill(lists[1], more)];
const further = {};     // the sender's facts, by name
let refresh;

/// Shows or hides the panel. While shown, it is filled each second.
///
/// - measure: the present figures.
export function toggleStatistics(measure) {
  panel.hidden = !panel.hidden;
  clearInterval(refresh);
  if (panel.hidden) return;
  const show = async () => {
    const current = await measure();
    for (const cell of cells) cell(current);
    for (const name in further) further[name].textContent = '–';
    for (const [name, text] of current.rows ?? []) (further[name] ??= addRow(lists[1], name)).textContent = text;
  };
  refresh = setInterval(show, 1000);
  return show();
}
