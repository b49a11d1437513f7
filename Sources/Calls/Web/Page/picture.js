// How old the picture on display is, and how often it froze.

const since1900 = Date.UTC(1970) - Date.UTC(1900);      // abs-capture-time counts from there, as NTP does
const longestWait = 50;     // ms from a callback to the display: Chromium expects that of a picture at rest seconds later
const lateness = 150;       // ms by which a frame is late, as in the freezeCount of browsers

export class PictureWatch {
  age = null;               // ms from capture to display; null while nothing tells, or where the two clocks disagree
  freezes = 0;
  #last = null;             // the frame before
  #isLate = false;          // whether a frame was late since the last count
  #counted = null;

  /// A frame is about to be displayed, as requestVideoFrameCallback tells.
  show({ expectedDisplayTime, receiveTime, captureTime, rtpTimestamp }, receiver) {
    const now = performance.now();      // the callback's own time may lie before the frame was received
    const shownAt = Math.min(Math.max(expectedDisplayTime, now), now + longestWait);
    const source = receiver.getSynchronizationSources()[0];
    let age = null;
    if (captureTime) age = shownAt - captureTime;
    else if (source?.captureTimestamp && source.rtpTimestamp === rtpTimestamp) {
      age = Date.now() + since1900 + shownAt - now - source.captureTimestamp;
    }
    if (age !== null) this.age = age >= 0 ? age : null;

    const frame = { at: receiveTime ?? now, rtpTimestamp };
    const captured = this.#last && ((rtpTimestamp - this.#last.rtpTimestamp) | 0) / 90;      // ms between the two captures
    if (captured !== null && frame.at - this.#last.at - captured > lateness) this.#isLate = true;
    this.#last = frame;
  }

  /// Takes in what the browser counts, each second. To the browser, each frame of a picture at rest ends a freeze; here a freeze
  /// counts only if a frame was late or lost.
  count({ freezeCount, pliCount }) {
    if (!Number.isFinite(freezeCount)) return;
    const before = this.#counted ?? { freezeCount, pliCount };
    if (this.#isLate || pliCount > before.pliCount) this.freezes += freezeCount - before.freezeCount;
    this.#counted = { freezeCount, pliCount };
    this.#isLate = false;
  }
}
