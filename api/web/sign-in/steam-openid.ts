import { Unauthorized, Unavailable } from '../../../src/domain/errors.ts';
import { type SteamId64, tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { readBoundedText } from '../../../src/runtime/bounded-text.ts';

/** The dependencies of the verification. The provider comes from the configuration, never from the request. */
export type SteamOpenId = {
  /** The only trusted provider (`STEAM_OPENID_URL`): `…/openid/login` issues claimed ids below `…/openid/id/`. */
  providerUrl: string;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Stores a nonce until `expiresAt`; false when it is already stored. Must be atomic, since replays may race. */
  claimNonce: (nonce: string, expiresAt: Date) => Promise<boolean>;
  now: () => Date;
  /** How long the provider may take to confirm, 5,000 ms by default. */
  timeoutMs?: number;
};

/** The values with which this sign-in was started. */
type ExpectedReturn = {
  /** The exact address given to the provider, `state` included. */
  returnTo: string;
  /** The one-time state bound to this browser. */
  state: string;
};

/** A parsed assertion: every pair of OpenID and of ours as received, and the first value of each key. */
type Assertion = { pairs: [string, string][]; fields: Map<string, string> };

type RuleContext = { providerUrl: string; expected: ExpectedReturn; now: Date };
type Rule = (assertion: Assertion, context: RuleContext) => boolean;

/** The assertion was refused; `rule` names the check that failed. */
export class AssertionRefused extends Unauthorized {
  override name = 'AssertionRefused';
  constructor(
    readonly rule: string,
    detail = '',
  ) {
    super(`the sign-in was refused: ${rule}${detail}`);
  }
}

/** The visitor pressed "Cancel" on the provider's page. */
export class SignInCancelled extends Unauthorized {
  override name = 'SignInCancelled';
}

const OPENID_NS = 'http://specs.openid.net/auth/2.0';
const IDENTIFIER_SELECT = `${OPENID_NS}/identifier_select`;
const NONCE_LIFETIME_MS = 5 * 60_000;
/** A provider's clock may run ahead of ours by this much. */
const CLOCK_SKEW_MS = 60_000;
const PROVIDER_TIMEOUT_MS = 5_000;
const MAX_RESPONSE_BYTES = 4_096;
const MAX_QUERY_LENGTH = 8_192;

/** The fields that the signature must cover, OpenID 2.0 section 10.1, `openid.signed`. */
const SIGNED_FIELDS = [
  'op_endpoint',
  'claimed_id',
  'identity',
  'return_to',
  'response_nonce',
  'assoc_handle',
];
/** All fields of a positive assertion, in the same section. */
const FIELDS = [...SIGNED_FIELDS, 'ns', 'mode', 'invalidate_handle', 'signed', 'sig'];
const KNOWN_KEYS: ReadonlySet<string> = new Set([...FIELDS.map((field) => `openid.${field}`), 'state']);

/**
 * The checks, in this order, that an assertion must pass before it is sent to the provider. A test removes one rule at
 * a time and shows that the attack which the rule prevents then succeeds.
 */
export const ASSERTION_RULES: Readonly<Record<string, Rule>> = {
  /** Genuine values are printable ASCII; rejects NUL bytes, line breaks (key-value injection) and invalid UTF-8. */
  'printable characters': ({ pairs }) => pairs.flat().every((text) => /^[\x20-\x7e]*$/.test(text)),
  /** Two parsers may read different values of a repeated key. */
  'no repeated keys': ({ pairs, fields }) => pairs.length === fields.size,
  'no unknown keys': ({ fields }) => [...fields.keys()].every((key) => KNOWN_KEYS.has(key)),
  ns: ({ fields }) => fields.get('openid.ns') === OPENID_NS,
  mode: ({ fields }) => fields.get('openid.mode') === 'id_res',
  op_endpoint: ({ fields }, { providerUrl }) => fields.get('openid.op_endpoint') === providerUrl,
  /** An assertion issued to another site contains that site's address. */
  return_to: ({ fields }, { expected }) => fields.get('openid.return_to') === expected.returnTo,
  /** OpenID 2.0 section 11.1: the query parameters of return_to must also be in the request. */
  state: ({ fields }, { expected }) => fields.get('state') === expected.state,
  /** Individual accounts of this provider only: no prefix, suffix, other host, group or game server. */
  claimed_id: ({ fields }, { providerUrl }) =>
    tryParseClaimedId(fields.get('openid.claimed_id'), providerUrl) !== undefined,
  identity: ({ fields }) => fields.get('openid.identity') === fields.get('openid.claimed_id'),
  signed: ({ fields }) => isSignedInFull(fields.get('openid.signed') ?? ''),
  signature: ({ fields }) => /^[A-Za-z0-9+/]{16,512}={0,2}$/.test(fields.get('openid.sig') ?? ''),
  assoc_handle: ({ fields }) => /^[\x21-\x7e]{1,255}$/.test(fields.get('openid.assoc_handle') ?? ''),
  'fresh nonce': ({ fields }, { now }) => {
    const issuedAt = tryParseNonceTime(fields.get('openid.response_nonce') ?? '');
    if (issuedAt === undefined) return false;
    const ageMs = now.getTime() - issuedAt.getTime();
    return ageMs <= NONCE_LIFETIME_MS && ageMs >= -CLOCK_SKEW_MS;
  },
};

/**
 * The address on the provider's site where the visitor signs in.
 * @param returnTo the callback address with the one-time state; must be below `realm`.
 * @see https://openid.net/specs/openid-authentication-2_0.html section 9.1
 */
export function buildSignInUrl(providerUrl: string, options: { returnTo: string; realm: string }): string {
  const url = new URL(providerUrl);
  const fields = {
    'openid.ns': OPENID_NS,
    'openid.mode': 'checkid_setup',
    'openid.return_to': options.returnTo,
    'openid.realm': options.realm,
    'openid.identity': IDENTIFIER_SELECT,
    'openid.claimed_id': IDENTIFIER_SELECT,
  };
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  return url.href;
}

/**
 * Verifies the query of the callback and returns its SteamID64.
 * The rules are checked first, then the provider confirms its signature, then the nonce is stored: an unconfirmed
 * assertion never writes to the database.
 * @param query the raw query string, with or without `?`.
 * @throws {AssertionRefused} naming the rule · {SignInCancelled} · {Unavailable} when the provider does not respond.
 * @see https://openid.net/specs/openid-authentication-2_0.html section 11
 */
export async function verifyAssertion(
  steam: SteamOpenId,
  query: string,
  expected: ExpectedReturn,
  rules: Readonly<Record<string, Rule>> = ASSERTION_RULES,
): Promise<SteamId64> {
  if (query.length > MAX_QUERY_LENGTH) throw new AssertionRefused('size');
  const assertion = readAssertion(query);
  if (isCancelled(assertion, expected)) throw new SignInCancelled('the sign-in was cancelled at Steam');

  const context = { providerUrl: steam.providerUrl, expected, now: steam.now() };
  for (const [name, holds] of Object.entries(rules)) {
    if (!holds(assertion, context)) throw new AssertionRefused(name, detailOf(name, assertion, context));
  }
  if (!(await isConfirmed(steam, assertion))) throw new AssertionRefused('check_authentication');

  const nonce = assertion.fields.get('openid.response_nonce') ?? '';
  const issuedAt = tryParseNonceTime(nonce) ?? context.now;
  const expiresAt = new Date(issuedAt.getTime() + NONCE_LIFETIME_MS + CLOCK_SKEW_MS);
  if (!(await steam.claimNonce(nonce, expiresAt))) throw new AssertionRefused('nonce used once');

  const steamId = tryParseClaimedId(assertion.fields.get('openid.claimed_id'), steam.providerUrl);
  if (steamId === undefined) throw new AssertionRefused('claimed_id');
  return steamId;
}

/** For a nonce outside its window: how old it is by our clock, since one of the two clocks is probably wrong. */
function detailOf(rule: string, { fields }: Assertion, { now }: RuleContext): string {
  const issuedAt = tryParseNonceTime(fields.get('openid.response_nonce') ?? '');
  if (rule !== 'fresh nonce' || issuedAt === undefined) return '';
  const ageSeconds = Math.round((now.getTime() - issuedAt.getTime()) / 1000);
  return `: Steam's clock says ${Math.abs(ageSeconds)} s ${ageSeconds < 0 ? 'later' : 'earlier'} than this machine's`;
}

function readAssertion(query: string): Assertion {
  // Trackers and proxies add others to the address.
  const pairs = [...new URLSearchParams(query)].filter(
    ([key]) => key === 'state' || key.startsWith('openid.'),
  );
  return { pairs, fields: new Map(pairs.toReversed()) };
}

function isCancelled({ pairs, fields }: Assertion, expectedReturn: ExpectedReturn): boolean {
  const isPlain = pairs.length === fields.size;
  return isPlain && fields.get('openid.mode') === 'cancel' && fields.get('state') === expectedReturn.state;
}

/** Steam's claimed ids are `{origin}/openid/id/{SteamID64}`, next to the login address `{origin}/openid/login`. */
function tryParseClaimedId(claimedId: string | undefined, providerUrl: string): SteamId64 | undefined {
  const base = new URL('id/', providerUrl).href;
  if (!claimedId?.startsWith(base)) return undefined;
  const digits = claimedId.slice(base.length);
  return /^[0-9]{17}$/.test(digits) ? tryParseSteamId(digits) : undefined;
}

function isSignedInFull(signed: string): boolean {
  const names = signed.split(',');
  return new Set(names).size === names.length && SIGNED_FIELDS.every((field) => names.includes(field));
}

/** OpenID 2.0 section 10.1: a nonce starts with its creation time in UTC and has at most 255 characters. */
function tryParseNonceTime(nonce: string): Date | undefined {
  const time = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)[\x21-\x7e]{1,235}$/.exec(nonce)?.[1];
  if (time === undefined) return undefined;
  const issuedAt = new Date(time);
  return Number.isNaN(issuedAt.getTime()) ? undefined : issuedAt;
}

/**
 * Verifies the signature with the configured provider (OpenID 2.0 section 11.4.2). Only a 200 response with `is_valid` in
 * its body counts: redirects are not followed, since another host could confirm, and the body's length is limited.
 * @throws {Unavailable} when the provider is unreachable, too slow, or responds with anything but `is_valid`.
 */
async function isConfirmed(steam: SteamOpenId, assertion: Assertion): Promise<boolean> {
  const body = new URLSearchParams();
  for (const [key, value] of assertion.fields) if (key.startsWith('openid.')) body.set(key, value);
  body.set('openid.mode', 'check_authentication');

  const signal = AbortSignal.timeout(steam.timeoutMs ?? PROVIDER_TIMEOUT_MS);
  let description: string;
  try {
    const response = await steam.fetch(steam.providerUrl, {
      method: 'POST',
      body,
      redirect: 'manual',
      signal,
      // A reused connection may be reset during this request, which is not repeated.
      keepalive: false,
      headers: { accept: 'text/plain' },
    });
    const text = await readBoundedText(response, MAX_RESPONSE_BYTES);
    const isValid = response.status === 200 && text !== undefined ? findIsValid(text) : undefined;
    if (isValid !== undefined) return isValid;
    description = `status ${response.status}, ${response.headers.get('content-type') ?? 'no content type'}`;
  } catch (cause) {
    throw new Unavailable('Steam does not respond', { cause });
  }
  throw new Unavailable(`Steam responded without is_valid: ${description}`);
}

/** Key-value form, OpenID 2.0 section 4.1.1: one `key:value` per line, each key once. */
function findIsValid(text: string): boolean | undefined {
  const lines = text.split('\n').filter((line) => line !== '');
  const readOnce = (key: string) => {
    const [line, ...others] = lines.filter((one) => one.startsWith(`${key}:`));
    return others.length === 0 ? line?.slice(key.length + 1) : undefined;
  };
  const isValid = readOnce('is_valid');
  if (readOnce('ns') !== OPENID_NS || (isValid !== 'true' && isValid !== 'false')) return undefined;
  return isValid === 'true';
}
