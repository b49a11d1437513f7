// The page's view of the sender: its requests, and its events.

import { within } from './time.js';

export class Refusal extends Error {
  constructor(response, sentence) {
    super(sentence);
    this.status = response.status;
    this.reason = response.headers.get('Oriel-Reason');
    this.retryAfter = Number(response.headers.get('Retry-After')) * 1000 || null;
  }
}

/// By this key, the sender recognizes a viewer that it has let in.
const viewerKey = (() => {
  const name = 'oriel-viewer';
  const fresh = crypto.getRandomValues(new Uint32Array(4)).join('');
  try {
    const known = localStorage.getItem(name) ?? fresh;
    localStorage.setItem(name, known);
    return known;
  } catch {                 // storage is blocked: the key is this page's only
    return fresh;
  }
})();

/// The sender, with one token.
export class Sender {
  knock = null;             // `{ name, note }` of a viewer that asks to be let in

  constructor(token) {
    this.token = token;
  }

  async request(path, options = {}) {
    const authorization = this.token && { Authorization: `Bearer ${this.token}` };
    const headers = { ...options.headers, ...authorization, 'Oriel-Viewer': viewerKey };
    const response = await fetch(path, { cache: 'no-store', ...options, headers });
    if (!response.ok) throw new Refusal(response, await response.text());
    return response;
  }

  /// Reads the events by fetch, because EventSource cannot send the token. Ends only by throwing.
  async followEvents(signal, hear) {
    const end = new AbortController();
    signal.addEventListener('abort', () => end.abort());
    try {
      const response = await within(10_000, this.request('api/events', { signal: end.signal }));
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ''; ;) {
        const { done, value } = await within(40_000, reader.read());      // a comment is due every 15 s
        if (done) throw new Error('The sender has gone.');
        const events = (text + value).split('\n\n');
        text = events.pop();
        for (const event of events) {
          if (event.startsWith('data:')) hear(JSON.parse(event.slice(5)));
        }
      }
    } finally {
      end.abort();
    }
  }
}
