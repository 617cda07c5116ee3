import { once } from 'node:events';
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
  /** All addresses of a host; throws when it has none. */
  resolve?: (host: string) => Promise<HostAddress[]>;
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

/** Creates the function, with its own pool of connections. */
export function createPost({
  mayConnect,
  resolve = (host) => resolveHost(host, { timeoutMs: TRY_LIMIT_MS }),
  limitMs = TRY_LIMIT_MS,
  ca,
}: Options): Post {
  const session = new Bun.FetchSession({ proxy: false, keepAlive: { idleTimeout: IDLE_SECONDS } });
  /** Origins that responded to the last message. */
  const responding = new Set<string>();

  /** The allowed addresses of a host, resolved once: a later change in DNS cannot lead elsewhere. */
  async function resolveAllowed(host: string, protocol: string): Promise<HostAddress[]> {
    const all = await resolve(host).catch((cause: unknown) => {
      throw new PostFailure('name-unresolved', `${host} has no address`, { cause });
    });
    const reachable = all.filter(({ address }) => mayConnect(address, protocol));
    if (reachable.length > 0) return reachable;
    const addresses = all.map(({ address }) => address).join(', ');
    throw new PostFailure(
      'address-refused',
      `${isIP(host) === 0 ? `${host} resolves to ${addresses}, which` : host} is outside the networks of WEBHOOK_ALLOW`,
    );
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
    const { signal } = message;
    signal.throwIfAborted();
    const aborted = once(signal, 'abort').then(() => Promise.reject(signal.reason));
    const addresses = await Promise.race([resolveAllowed(hostOf(url), url.protocol), aborted]);
    const hasResponded = responding.delete(url.origin);
    const response = await sendToFirst(url, addresses, message).catch((error: unknown) => {
      if (hasResponded && errorCode(error) === CLOSED) return sendToFirst(url, addresses, message);
      throw error;
    });
    responding.add(url.origin);
    await drain(response).catch(() => undefined);
    return response.status;
  }

  return async (text, { signal, ...message }) => {
    // Not withTimeLimit: if the status has arrived by then it counts, and only reading the body is stopped.
    const limit = AbortSignal.timeout(limitMs);
    try {
      const ending = signal ? AbortSignal.any([signal, limit]) : limit;
      return await exchange(new URL(text), { ...message, signal: ending });
    } catch (error) {
      if (limit.aborted) throw new PostFailure('timeout', `no response within ${limitMs} ms`);
      throw toFailure(error);
    }
  };
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
