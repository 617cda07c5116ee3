import { isIP } from 'node:net';
import { errorCode } from '../../domain/errors.ts';
import type { DeliveryFailure } from '../../domain/webhook.ts';
import { type HostAddress, resolveHost } from '../../runtime/resolve-host.ts';
import { hostOf } from './endpoint.ts';

/** There was no response. */
export class PostFailure extends Error {
  override name = 'PostFailure';

  constructor(
    readonly reason: DeliveryFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

type Message = {
  headers: Record<string, string>;
  body: string;
  /**
   * How many attempts at this message have failed. Each begins at another address of the host, so that one that does not
   * respond cannot use up all attempts.
   */
  failures?: number;
  /** Aborts the request. */
  signal?: AbortSignal | undefined;
};

/**
 * Posts a message; up to 4 KB of the response body are read and ignored. Redirects are not followed, connections are
 * reused, and proxies of the environment are not used.
 * @returns the status of the response.
 * @throws {PostFailure}
 */
export type Post = (url: string, message: Message) => Promise<number>;

type Options = {
  /** Checked for every address before a connection is made. */
  mayConnect: (address: string, protocol: string) => boolean;
  /** All addresses of a name; throws when it has none. */
  resolve?: (name: string) => Promise<HostAddress[]>;
  /** How long resolved addresses are reused while messages succeed; 5 s by default. */
  resolvedForMs?: number;
  /** From the start to the end of the response; {@link TRY_LIMIT_MS} by default. */
  limitMs?: number;
  /** A certificate authority that TLS trusts besides the known ones. */
  ca?: string;
};

export const TRY_LIMIT_MS = 10_000;
const RESPONSE_LIMIT_BYTES = 4096;
/** Idle connections are closed after this time. */
const IDLE_SECONDS = 60;
/** Nothing was sent: another address of the host may work. */
const NOT_CONNECTED = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'];
/** The other side closed the connection: perhaps an idle one, just when it was reused. */
const CLOSED = 'ECONNRESET';

/** Creates the function; its connections and resolved addresses are its own. */
export function createPost({
  mayConnect,
  resolve = (name) => resolveHost(name, { timeoutMs: TRY_LIMIT_MS }),
  resolvedForMs = 5000,
  limitMs = TRY_LIMIT_MS,
  ca,
}: Options): Post {
  const session = new Bun.FetchSession({ proxy: false, keepAlive: { idleTimeout: IDLE_SECONDS } });
  /** By origin: allowed addresses, one of which took the last message. */
  const resolved = new Map<string, { addresses: HostAddress[]; untilMs: number }>();
  /** By name: a name is resolved once at a time, however many messages wait for it. */
  const resolving = new Map<string, Promise<HostAddress[]>>();

  /** The allowed addresses of a host, resolved once: a later change in DNS cannot lead elsewhere. */
  async function resolveAllowed(host: string, protocol: string): Promise<HostAddress[]> {
    const isAddress = isIP(host) !== 0;
    const all = isAddress ? [{ address: host, family: isIP(host) }] : await resolveName(host);
    const allowed = all.filter(({ address }) => mayConnect(address, protocol));
    if (allowed.length > 0) return allowed;
    const addresses = all.map(({ address }) => address).join(', ');
    throw new PostFailure(
      'address-refused',
      `${isAddress ? host : `${host} resolves to ${addresses}, which`} is outside the networks of WEBHOOK_ALLOW`,
    );
  }

  async function resolveName(name: string): Promise<HostAddress[]> {
    const lookup = resolving.get(name) ?? resolve(name).finally(() => resolving.delete(name));
    resolving.set(name, lookup);
    try {
      return await lookup;
    } catch (cause) {
      throw new PostFailure('name-unresolved', `${name} has no address`, { cause });
    }
  }

  /** Connects to the checked address, not to the name, which would be resolved again. */
  function send(
    url: URL,
    { address, family }: HostAddress,
    { headers, body, signal }: Message,
  ): Promise<Response> {
    const host = hostOf(url);
    const port = url.port === '' ? '' : `:${url.port}`;
    const target = family === 6 ? `[${address}]` : address;
    return session.fetch(`${url.protocol}//${target}${port}${url.pathname}${url.search}`, {
      method: 'POST',
      headers: { ...headers, host: url.host },
      body,
      redirect: 'manual',
      decompress: false,
      ...(signal && { signal }),
      ...(url.protocol === 'https:' && {
        tls: { ...(isIP(host) === 0 && { serverName: host }), ...(ca !== undefined && { ca }) },
      }),
    });
  }

  /** Tries one address after another until a connection succeeds. */
  async function sendToFirst(
    url: URL,
    addresses: readonly HostAddress[],
    message: Message,
  ): Promise<Response> {
    const first = (message.failures ?? 0) % addresses.length;
    let failure: unknown;
    for (const address of [...addresses.slice(first), ...addresses.slice(0, first)]) {
      try {
        return await send(url, address, message);
      } catch (error) {
        if (!NOT_CONNECTED.includes(errorCode(error))) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  async function exchange(url: URL, message: Message & { signal: AbortSignal }): Promise<number> {
    const previous = resolved.get(url.origin);
    resolved.delete(url.origin);
    const current =
      previous && performance.now() < previous.untilMs
        ? previous
        : {
            addresses: await orAborted(resolveAllowed(hostOf(url), url.protocol), message.signal),
            untilMs: performance.now() + resolvedForMs,
          };
    const response = await sendToFirst(url, current.addresses, message).catch((error: unknown) => {
      if (previous && errorCode(error) === CLOSED) return sendToFirst(url, current.addresses, message);
      throw error;
    });
    resolved.set(url.origin, current);
    await drain(response).catch(() => undefined);
    return response.status;
  }

  return async (text, { signal, ...message }) => {
    const ending = new AbortController();
    const end = (error: PostFailure) => ending.abort(error);
    // Not withTimeLimit: if the status has arrived by then it counts, and only reading the body is stopped.
    const timer = setTimeout(
      () => end(new PostFailure('timeout', `no response within ${limitMs} ms`)),
      limitMs,
    );
    const giveUp = () => end(new PostFailure('unreachable', 'given up'));
    signal?.addEventListener('abort', giveUp);
    if (signal?.aborted) giveUp();
    try {
      return await exchange(new URL(text), { ...message, signal: ending.signal });
    } catch (error) {
      throw toFailure(ending.signal.aborted ? ending.signal.reason : error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    }
  };
}

/** Waits for work until the signal aborts. @throws the signal's reason. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
    work.catch(() => {});
  }
}

/** Settles at the end of the response, so that its connection may be used again; after 4 KB the connection is closed. */
async function drain({ body }: Response): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  let bytes = 0;
  while (bytes < RESPONSE_LIMIT_BYTES) {
    const { value, done } = await reader.read();
    if (done) return;
    bytes += value.length;
  }
  await reader.cancel();
}

function toFailure(error: unknown): unknown {
  if (error instanceof PostFailure || !(error instanceof Error)) return error;
  const isTls = /CERT|TLS|SSL|SIGNATURE|ISSUER/.test(errorCode(error));
  return new PostFailure(isTls ? 'tls' : 'unreachable', error.message, { cause: error });
}
