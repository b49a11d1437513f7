/// The STUN and TURN servers of a response:
/// `Link: <stun:…>; rel="ice-server", <turn:…>; rel="ice-server"; username="…"; credential="…"`.
export function iceServersOf(response) {
  const link = response.headers.get('Link') ?? '';
  return [...link.matchAll(/<([^>]*)>((\s*;\s*[\w-]+="[^"]*")*)/g)].map(([, urls, text]) => {
    const parameters = Object.fromEntries([...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(match => match.slice(1)));
    return { urls, ...parameters };
  }).filter(server => server.rel === 'ice-server')
    .map(({ urls, username, credential }) => ({ urls, username, credential }));
}
