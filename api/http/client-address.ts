import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { isPublicAddress } from '../../src/runtime/address.ts';
import type { Incoming } from './route-definition.ts';

/** The longest chain of proxies that is followed; the header may be longer, since clients can send any. */
const MAX_HOPS = 32;
/** An IPv6 address in brackets, its port and the space before it. */
const MAX_HOP_LENGTH = 64;

/** The rate-limit key of a request without a token: its address, behind trusted proxies the forwarded one. */
export type ClientKey = (incoming: Incoming) => string;

/** Headers other than `X-Forwarded-For` in which proxies name the client. They are never trusted. */
const OTHER_HEADERS = ['cf-connecting-ip', 'true-client-ip', 'x-real-ip', 'x-client-ip', 'fastly-client-ip'];

/** Why all visitors behind a proxy share one rate limit: a state for `/readyz`, and a line for the log. */
type ProxyProblem = { state: string; warning: string };

const SHARED = 'all visitors behind it share one rate limit';

/** Reading headers costs more than finding the address: after the first requests, one in this many is examined. */
const EXAMINED_FIRST = 100;
const EXAMINED_EVERY = 100;

/** @param onProblem called with the first problem that the headers of requests show. */
export function createClientKey(
  isTrustedProxy: (address: string) => boolean,
  onProblem: (problem: ProxyProblem) => void,
): ClientKey {
  let isNoticed = false;
  let requests = 0;
  return ({ request, server }) => {
    const peer = server?.requestIP(request)?.address ?? '0.0.0.0';
    const client = findClientAddress(peer, request.headers.get('x-forwarded-for'), isTrustedProxy);
    requests += 1;
    if (!isNoticed && (requests <= EXAMINED_FIRST || requests % EXAMINED_EVERY === 0)) {
      const isTrusted = isTrustedProxy(peer);
      const problem = findProxyProblem(request, { peer, client, isTrusted });
      if (problem) {
        isNoticed = true;
        onProblem(problem);
      }
    }
    return rateLimitKey(client);
  };
}

/** The problem that the headers of a request show. A public address that is not trusted may be a client that forges them. */
function findProxyProblem(
  { headers }: Request,
  { peer, client, isTrusted }: { peer: string; client: string; isTrusted: boolean },
): ProxyProblem | undefined {
  if (!isTrusted && isPublicAddress(peer)) return undefined;
  if (!isTrusted && headers.has('x-forwarded-for')) {
    return {
      state: 'not in TRUSTED_PROXIES',
      warning: `${peer} sends X-Forwarded-For and is not trusted: ${SHARED}; if it is your proxy, name it in TRUSTED_PROXIES`,
    };
  }
  if (client === peer) {
    const header = OTHER_HEADERS.find((name) => isIP(headers.get(name) ?? '') !== 0);
    return header === undefined
      ? undefined
      : {
          state: `${header} without X-Forwarded-For`,
          warning: `${peer} sends ${header} without a usable X-Forwarded-For: ${SHARED}; let your proxy send X-Forwarded-For, and name it in TRUSTED_PROXIES`,
        };
  }
  const visitor = headers.get('cf-connecting-ip') ?? '';
  if (isIP(visitor) === 0 || rateLimitKey(visitor) === rateLimitKey(client)) return undefined;
  return {
    state: "Cloudflare's networks are not in TRUSTED_PROXIES",
    warning: `X-Forwarded-For names ${client}, and CF-Connecting-IP another client: ${SHARED}; name Cloudflare's networks in TRUSTED_PROXIES`,
  };
}

/**
 * The address a request came from: the peer's, or behind a trusted proxy the rightmost address of X-Forwarded-For that
 * is not itself a trusted proxy. Entries to its left may be forged.
 */
export function findClientAddress(
  peer: string,
  forwardedFor: string | null,
  isTrustedProxy: (address: string) => boolean,
): string {
  if (forwardedFor === null || !isTrustedProxy(peer)) return peer;
  for (const hop of lastHops(forwardedFor).reverse()) {
    if (isIP(hop) === 0) return peer;
    if (!isTrustedProxy(hop)) return hop;
    peer = hop;
  }
  return peer;
}

/** The last addresses of the header, at most {@link MAX_HOPS}. */
function lastHops(forwardedFor: string): string[] {
  const hops = forwardedFor
    .slice(-MAX_HOPS * MAX_HOP_LENGTH)
    .split(',')
    .slice(-MAX_HOPS);
  return hops.map((hop) => withoutPort(hop.trim()));
}

/** The key of a client's limits: an IPv4 address, or the /64 of an IPv6 address, since a customer gets a whole /64. */
export function rateLimitKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const ip = ipaddr.process(address);
  if (ip.kind() === 'ipv4') return ip.toString();
  return `${ip
    .toByteArray()
    .slice(0, 8)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')}/64`;
}

function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::[0-9]+)?$/.exec(hop);
  if (bracketed?.[1]) return bracketed[1];
  return /^[0-9.]+:[0-9]+$/.test(hop) ? hop.slice(0, hop.indexOf(':')) : hop;
}
