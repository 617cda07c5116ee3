import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { atEnd } from '../cleanup.ts';

export type SteamOpenIdProvider = {
  /** The address of the login page, what `STEAM_OPENID_URL` is set to. */
  url: string;
  /** Who is signed in at the provider. */
  steamId: string;
  /** `honest` verifies its own signature and its own nonces. */
  conduct: 'honest' | keyof typeof VERDICTS;
  /** The clock of the provider, for nonces. */
  now: () => Date;
  /** The bodies of all `check_authentication` requests so far. */
  checks: URLSearchParams[];
  /** A signed assertion with any field replaced before signing; the site that asks chooses `return_to`. */
  sign(fields: Record<string, string>): URLSearchParams;
  stop(): Promise<void>;
};

const NS = 'http://specs.openid.net/auth/2.0';
/** How the provider may respond to `check_authentication`, whatever it is asked. */
const VERDICTS = {
  'vouches for anything': () => plain(`ns:${NS}\nis_valid:true\n`),
  'refuses everything': () => plain(`ns:${NS}\nis_valid:false\n`),
  redirects: () => new Response(null, { status: 302, headers: { location: '/openid/elsewhere' } }),
  'never answers': () => new Promise<Response>(() => {}),
  fails: () => new Response('down', { status: 503 }),
  'answers without end': () => plain(`ns:${NS}\nis_valid:true\n${'filler:x\n'.repeat(100_000)}`),
  'says yes in an error page': () => new Response(`ns:${NS}\nis_valid:true\n`, { status: 403 }),
  'answers in HTML': () => plain('<html><p>is_valid:true</p></html>'),
  'contradicts itself': () => plain(`ns:${NS}\nis_valid:true\nis_valid:false\n`),
  'speaks another protocol': () => plain('ns:http://openid.net/signon/1.1\nis_valid:true\n'),
};
const SIGNED = 'signed,op_endpoint,claimed_id,identity,return_to,response_nonce,assoc_handle';

/**
 * Steam's OpenID 2.0 provider on loopback: `checkid_setup` that signs in at once, assertions signed with HMAC-SHA1 over
 * the key-value form, `check_authentication` that says yes once a nonce. It can misbehave in every way a relying
 * party has to survive.
 */
export function startSteamOpenIdProvider(options: { steamId?: string } = {}): SteamOpenIdProvider {
  const secret = randomBytes(20);
  const spentNonces = new Set<string>();
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handle });
  const url = `http://127.0.0.1:${server.port}/openid/login`;

  atEnd(() => server.stop(true));
  const provider: SteamOpenIdProvider = {
    url,
    steamId: options.steamId ?? '76561198000000001',
    conduct: 'honest',
    now: () => new Date(),
    checks: [],
    sign,
    stop: () => server.stop(true),
  };
  return provider;

  function sign(fields: Record<string, string>): URLSearchParams {
    const claimedId = new URL(`id/${provider.steamId}`, url).href;
    const assertion = new URLSearchParams({
      'openid.ns': NS,
      'openid.mode': 'id_res',
      'openid.op_endpoint': url,
      'openid.claimed_id': claimedId,
      'openid.identity': claimedId,
      'openid.return_to': 'http://nowhere.invalid/',
      'openid.response_nonce': `${provider.now().toISOString().slice(0, 19)}Z${randomBytes(12).toString('base64url')}`,
      'openid.assoc_handle': '1234567890',
      'openid.signed': SIGNED,
    });
    for (const [name, value] of Object.entries(fields)) assertion.set(name, value);
    assertion.set('openid.sig', signatureOf(assertion));
    return assertion;
  }

  function signatureOf(assertion: URLSearchParams): string {
    const names = (assertion.get('openid.signed') ?? '').split(',');
    const form = names.map((name) => `${name}:${assertion.get(`openid.${name}`) ?? ''}\n`).join('');
    return createHmac('sha1', secret).update(form).digest('base64');
  }

  async function handle(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/openid/elsewhere') return plain(`ns:${NS}\nis_valid:true\n`);
    if (pathname !== '/openid/login') return new Response('not found', { status: 404 });
    if (request.method === 'GET') return redirectBack(searchParams);
    return checkAuthentication(new URLSearchParams(await request.text()));
  }

  function redirectBack(query: URLSearchParams): Response {
    const returnTo = query.get('openid.return_to') ?? '';
    const realm = query.get('openid.realm') ?? '';
    const isSound =
      query.get('openid.ns') === NS &&
      query.get('openid.mode') === 'checkid_setup' &&
      query.get('openid.identity') === `${NS}/identifier_select` &&
      query.get('openid.claimed_id') === `${NS}/identifier_select` &&
      realm !== '' &&
      returnTo.startsWith(realm);
    if (!isSound) return new Response('malformed OpenID request', { status: 400 });
    const target = new URL(returnTo);
    for (const [key, value] of sign({ 'openid.return_to': returnTo })) target.searchParams.append(key, value);
    return Response.redirect(target.href, 302);
  }

  function checkAuthentication(form: URLSearchParams): Response | Promise<Response> {
    provider.checks.push(form);
    if (provider.conduct !== 'honest') return VERDICTS[provider.conduct]();
    return plain(`ns:${NS}\nis_valid:${isGenuine(form)}\n`);
  }

  /** OpenID 2.0 section 11.4.2.1: the mode is changed back for verification, and one nonce is confirmed once. */
  function isGenuine(form: URLSearchParams): boolean {
    const assertion = new URLSearchParams(form);
    assertion.set('openid.mode', 'id_res');
    const given = Buffer.from(assertion.get('openid.sig') ?? '');
    const ours = Buffer.from(signatureOf(assertion));
    const nonce = assertion.get('openid.response_nonce') ?? '';
    if (form.get('openid.mode') !== 'check_authentication' || spentNonces.has(nonce)) return false;
    if (given.length !== ours.length || !timingSafeEqual(given, ours)) return false;
    spentNonces.add(nonce);
    return true;
  }
}

function plain(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
}
