/** A port nobody listens on, for what has to know its public address before it listens. */
export function findFreePort(): number {
  const probe = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const { port } = probe;
  probe.stop(true);
  if (port === undefined) throw new Error('no free port');
  return port;
}
