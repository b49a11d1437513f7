// How old the picture on display is, and how often it froze.

const since1900 = Date.UTC(1970) - Date.UTC(1900);      // abs-capture-time counts from there, as NTP does
const longestWait = 50;     // ms from a callback to the display: Chromium expects that of a picture at rest seconds later

// Of frames, in ms.
const lateness = 150;       // by which a late one comes later than the one before it
const motion = 500;         // between two captures of a picture in motion, at the most
const isRest = captured => captured > 1900 && captured < 2200;      // a sender repeats a picture at rest each 2 s

const tellsFrames = 'requestVideoFrameCallback' in HTMLVideoElement.prototype;

export class PictureWatch {
  age = null;               // ms from capture to display; null while nothing tells, or where the two clocks disagree
  freezes = tellsFrames ? 0 : null;
  #last = null;             // the frame before
  #pauses = 0;              // since the last count: of a picture that rested, or that froze as frames were lost
  #losses = [0, 0];         // as of the last two counts

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
    this.#look({ at: receiveTime ?? now, rtpTimestamp });
  }

  /// The browser's own freezeCount takes each frame of a picture at rest for the end of a freeze.
  #look(frame) {
    const last = this.#last;
    this.#last = frame;
    if (!last) return;
    const gap = frame.at - last.at, captured = ((frame.rtpTimestamp - last.rtpTimestamp) | 0) / 90;
    if (captured < motion && gap - captured > lateness) this.freezes += 1;
    else if (captured >= motion && !isRest(captured)) this.#pauses += 1;
  }

  /// Takes in each second what the browser counts: a pause in which packets were lost was a freeze.
  count({ nackCount = 0, pliCount = 0 }) {
    const losses = nackCount + pliCount;
    if (losses > this.#losses[0]) this.freezes += this.#pauses;
    this.#pauses = 0;
    this.#losses = [this.#losses[1], losses];
  }
}
