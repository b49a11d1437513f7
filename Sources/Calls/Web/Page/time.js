/// Resolves after a time.
export const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));

/// As the promise, or rejects after a time.
export function within(milliseconds, promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(reject, milliseconds, new DOMException('No answer.', 'TimeoutError')); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
