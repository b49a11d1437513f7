// The age of the picture on display, and its freezes.

const since1900 = Date.UTC(1970) - Date.UTC(1900);      // the epoch of abs-capture-time, as of NTP
const longestWait = 50;     // ms from a callback to the display: for a picture at rest, Chromium expects seconds

// Of frames, in ms.
const lateness = 150;       // the least lateness of a late one after the one before
const motion = 500;         // the longest time between two captures in motion
const isRest = captured => captured > 1900 && captured < 2200;      // a sender repeats a picture at rest each 2 s

const tellsFrames = 'requestVideoFrameCallback' in HTMLVideoElement.prototype;

export class PictureWatch {
  age = null;               // ms from capture to display; null if unknown, or if the two clocks disagree
  freezes = tellsFrames ? 0 : null;
  #last = null;             // the frame before
  #pauses = 0;              // since the last count: of a picture at rest, or of a freeze after lost frames
  #losses = [0, 0];         // the last two counts

  /// Records a frame that is about to be displayed, from requestVideoFrameCallback.
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
    this.#look({ at: receiveTime ?? now, rtpTimestamp });
  }

  /// The browser's own freezeCount counts each frame of a picture at rest as the end of a freeze.
  #look(frame) {
    const last = this.#last;
    this.#last = frame;
    if (!last) return;
    const gap = frame.at - last.at, captured = ((frame.rtpTimestamp - last.rtpTimestamp) | 0) / 90;
    if (captured < motion && gap - captured > lateness) this.freezes += 1;
    else if (captured >= motion && !isRest(captured)) this.#pauses += 1;
  }

  /// Adds the browser's counts, once a second. A pause with lost packets was a freeze.
  count({ nackCount = 0, pliCount = 0 }) {
    const losses = nackCount + pliCount;
    if (losses > this.#losses[0]) this.freezes += this.#pauses;
    this.#pauses = 0;
    this.#losses = [this.#losses[1], losses];
  }
}
