import { lookup } from 'node:dns/promises';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { DeliveryFailure } from '../../domain/webhook.ts';
import { hostOf } from './endpoint.ts';

/** No response came. */
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

type Address = { address: string; family: number };

type Message = {
  headers: Record<string, string>;
  body: string;
  /** Gives the message up. */
  signal?: AbortSignal | undefined;
};

/**
 * Posts a message; the status decides, and what else the response holds is read to 4 KB and dropped. Redirects are not
 * followed. Every message has a connection of its own, which no proxy of the environment stands in.
 * @returns the status of the response.
 * @throws {PostFailure}
 */
export type Post = (url: string, message: Message) => Promise<number>;

type Options = {
  /** Judges every address that a connection is made to. */
  mayConnect: (address: string, protocol: string) => boolean;
  /** All addresses of a name. */
  resolve?: (name: string) => Promise<Address[]>;
  /** From the start to the end of the response; 10 s by default. */
  limitMs?: number;
  /** What TLS trusts besides the known authorities. */
  ca?: string;
};

const RESPONSE_LIMIT_BYTES = 4096;

export function createPost({
  mayConnect,
  resolve = (name) => lookup(name, { all: true }),
  limitMs = 10_000,
  ca,
}: Options): Post {
  /** The addresses of a host that may be connected to: what it resolves to later does not matter any more. */
  async function resolveAllowed(host: string, protocol: string): Promise<Address[]> {
    const found = isIP(host) ? [{ address: host, family: isIP(host) }] : await resolveName(host);
    const allowed = found.filter(({ address }) => mayConnect(address, protocol));
    if (allowed.length > 0) return allowed;
    const addresses = found.map(({ address }) => address).join(', ');
    throw new PostFailure('address-refused', `${host} is ${addresses}, which WEBHOOK_ALLOW does not name`);
  }

  async function resolveName(name: string): Promise<Address[]> {
    try {
      return await resolve(name);
    } catch (cause) {
      throw new PostFailure('name-unresolved', `${name} has no address`, { cause });
    }
  }

  function open(url: URL, headers: Record<string, string>, addresses: Address[]): ClientRequest {
    const options: https.RequestOptions = {
      method: 'POST',
      hostname: hostOf(url),
      port: url.port === '' ? undefined : Number(url.port),
      path: url.pathname + url.search,
      headers,
      agent: false,
      lookup: (_host, { all }, done) => {
        const [first] = addresses;
        if (all) done(null, addresses);
        else done(null, first?.address ?? '', first?.family);
      },
    };
    return url.protocol === 'https:' ? https.request({ ...options, ca }) : http.request(options);
  }

  return async (text, { headers, body, signal }) => {
    const url = new URL(text);
    const ending = new AbortController();
    const end = (error: PostFailure) => ending.abort(error);
    const timer = setTimeout(
      () => end(new PostFailure('timeout', `no response within ${limitMs} ms`)),
      limitMs,
    );
    const giveUp = () => end(new PostFailure('unreachable', 'given up'));
    signal?.addEventListener('abort', giveUp);
    if (signal?.aborted) giveUp();
    try {
      const addresses = await orAborted(resolveAllowed(hostOf(url), url.protocol), ending.signal);
      const request = open(url, { ...headers, 'content-length': String(Buffer.byteLength(body)) }, addresses);
      return await readStatus(request, body, ending.signal);
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

async function readStatus(request: ClientRequest, body: string, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on('response', resolve);
  request.on('error', (cause) => reject(toFailure(cause)));
  request.end(body);
  try {
    const response = await orAborted(promise, signal);
    await orAborted(drain(response), signal).catch(() => undefined);
    return response.statusCode ?? 0;
  } finally {
    // The connection goes with it, whatever else the other side would send.
    request.destroy();
  }
}

/** Settles at the end of the response, after 4 KB of it, or when it breaks off: its status is there already. */
function drain(response: IncomingMessage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes >= RESPONSE_LIMIT_BYTES) resolve();
  });
  for (const event of ['end', 'error', 'close']) response.on(event, () => resolve());
  return promise;
}

function toFailure(cause: Error & { code?: string }): PostFailure {
  const isTls = /CERT|TLS|SSL|SIGNATURE|ISSUER/.test(cause.code ?? '');
  return new PostFailure(isTls ? 'tls' : 'unreachable', cause.message, { cause });
}
