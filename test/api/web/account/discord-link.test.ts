import { beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import {
  buildAuthorizationUrl,
  type DiscordOAuth,
  fetchDiscordAccount,
  LinkRefused,
} from '../../../../api/web/account/discord-oauth.ts';
import { en } from '../../../../api/web/locales/en.ts';
import { auditLog, users } from '../../../../src/db/schema/accounts.ts';
import { discordPenaltyNews } from '../../../../src/db/schema/discord.ts';
import { Unavailable } from '../../../../src/domain/errors.ts';
import { aSteamId, erase } from '../../../support/database/builders.ts';
import { startDiscordOAuthProvider } from '../../../support/providers/discord-oauth-provider.ts';
import { type Browser, openBrowser, type Page, signIn } from '../../../support/web/browser.ts';
import { noticesOf } from '../../../support/web/page-text.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

const discord = startDiscordOAuthProvider();
/** The address of each attempt, and how many are allowed. */
const attempts: string[] = [];
let allowed = Number.POSITIVE_INFINITY;
const take = (key: string) => ({ isAllowed: attempts.push(key) <= allowed, resetSeconds: 9 });
const { db, steam, site, startSite, signedIn, userOf } = await openUserSite({
  discord,
  limits: { attempts: { take } },
});

let lastPlayer = 0;
let browser: Browser;
beforeEach(async () => {
  lastPlayer += 1;
  const account = {
    id: `80351110224678${lastPlayer}`,
    username: `nelly${lastPlayer}`,
    avatar: 'a_8342729096ea',
  };
  Object.assign(discord, { account, consent: 'allow', conduct: 'honest', beforeAccount: async () => {} });
  browser = await signedIn();
});

async function link(from: Browser = browser): Promise<Page> {
  const start = await from.post('/account/discord/link');
  const back = await from.follow(start);
  return from.follow(back);
}

describe('linking Discord', () => {
  test('stores id, username and avatar hash, and no token', async () => {
    const page = await link();
    expect([page.status, page.location]).toEqual([303, '/account#discord']);
    const { text } = await browser.follow(page);
    expect(noticesOf(text)).toEqual([['discord', en.notices['discord-linked']]]);
    expect(await userOf()).toMatchObject({
      discordId: `80351110224678${lastPlayer}`,
      discordUsername: `nelly${lastPlayer}`,
      discordAvatar: 'a_8342729096ea',
    });
    expect(discord.liveTokens.size).toBe(0);
    expect((await browser.get('/account')).text).toContain(
      `aria-hidden="true">N<img src="https://cdn.discordapp.com/avatars/80351110224678${lastPlayer}/a_8342729096ea.jpg?size=64" alt=""`,
    );
    const entries = await db.select().from(auditLog).where(eq(auditLog.subject, steam.steamId));
    expect(entries.at(-1)).toMatchObject({
      action: 'discord.linked',
      details: { username: `nelly${lastPlayer}` },
    });
  });

  test('the policy of the page lets its forms lead to Discord and nowhere else', async () => {
    const policy = (await browser.get('/account')).headers.get('content-security-policy') ?? '';
    expect(policy).toContain(`form-action 'self' ${new URL(discord.apiUrl).origin};`);
  });

  test('linking again updates the name', async () => {
    await link();
    discord.account = { ...discord.account, username: 'renamed', avatar: null };
    await link();
    expect(await userOf()).toMatchObject({ discordUsername: 'renamed', discordAvatar: '' });
  });

  test('an account that is linked to another player is refused, clearly', async () => {
    await link();
    const other = await signedIn(500 + lastPlayer);
    const page = await link(other);
    expect(page.status).toBe(409);
    expect(page.text).toContain(en.errors['discord-linked-elsewhere']);
    expect((await userOf()).discordId).toBe(discord.account.id);
    expect((await userOf(500 + lastPlayer)).discordId).toBeNull();
    expect(discord.liveTokens.size).toBe(0);
  });

  test('takes an id of 63 bits, and refuses a longer one from Discord', async () => {
    for (const id of ['18446744073709551615', '9223372036854775808', '99999999999999999999']) {
      discord.account = { ...discord.account, id };
      const page = await link();
      expect([id, page.status]).toEqual([id, 400]);
      expect(page.text).toContain(en.errors['link-refused']);
    }
    expect((await userOf()).discordId).toBeNull();
    expect(site.log.filter(({ level }) => level === 'error')).toEqual([]);
    discord.account = { ...discord.account, id: '9223372036854775807' };
    expect((await link()).status).toBe(303);
    expect((await userOf()).discordId).toBe('9223372036854775807');
  });

  test('links nothing to an account that was deleted and created again meanwhile', async () => {
    discord.beforeAccount = async () => {
      await erase(db, aSteamId(lastPlayer), { actor: 'member' });
      await signIn(openBrowser(site.origin));
    };
    expect((await link()).status).toBe(401);
    expect((await userOf()).discordId).toBeNull();
  });

  test('cancelling at Discord leaves the account without a link', async () => {
    discord.consent = 'deny';
    const page = await browser.follow(await link());
    expect(noticesOf(page.text)).toEqual([['discord', en.notices['link-cancelled']]]);
    expect((await userOf()).discordId).toBeNull();
  });

  test('a return of another session links nothing, in the same browser or in another', async () => {
    const back = await browser.follow(await browser.post('/account/discord/link'));
    steam.steamId = aSteamId(600 + lastPlayer);
    const victim = openBrowser(site.origin);
    await signIn(victim);
    const page = await victim.follow(back);
    expect(page.status).toBe(400);
    expect(page.text).toContain(en.errors['link-refused']);
    expect((await userOf(600 + lastPlayer)).discordId).toBeNull();
  });

  test('reports that Discord is not responding', async () => {
    discord.conduct = 'fails';
    const page = await link();
    expect(page.status).toBe(503);
    expect(page.text).toContain(en.errors['discord-unavailable']);
  });

  test('linking is not offered when it is not set up, and an older link is still shown', async () => {
    const visitor = openBrowser(startSite({}).origin);
    const { text } = await signIn(visitor);
    expect(text).not.toContain('/account/discord/link');
    expect(text).toContain(en.discord.notSetUp);
    expect((await visitor.post('/account/discord/link')).status).toBe(404);
    const { id } = await userOf();
    await db.update(users).set({ discordId: '42', discordUsername: 'by-cli' }).where(eq(users.id, id));
    const linked = (await visitor.get('/account')).text;
    expect(linked).toContain('by-cli');
    expect(linked).not.toContain(en.discord.notSetUp);
    expect(linked).toContain(en.discord.unlinkLead('by-cli', false));
  });
});

test('the choice of messages about penalties is saved with the language of the page, and ends with the Discord link', async () => {
  const stored = async () => {
    const { id } = await userOf();
    return (await db.select().from(discordPenaltyNews).where(eq(discordPenaltyNews.userId, id)))[0];
  };
  const save = (form: Record<string, string>) => browser.post('/account/discord/penalties', form);
  expect((await browser.get('/account')).text).not.toContain(en.discord.tellsPenalties);
  expect((await save({ penalties: 'on' })).status).toBe(404);
  await link();
  const saved = await save({ penalties: 'on' });
  expect(noticesOf((await browser.follow(saved)).text)).toEqual([['discord', en.notices['penalty-news-on']]]);
  expect(await stored()).toMatchObject({ language: 'en', endedAt: null });
  await db.update(discordPenaltyNews).set({ endedAt: new Date() });
  expect((await browser.get('/account')).text).toContain(en.discord.inboxClosed);
  await save({ penalties: 'on' });
  expect((await browser.get('/account')).text).not.toContain(en.discord.inboxClosed);
  await save({});
  expect(await stored()).toBeUndefined();
  await save({ penalties: 'on' });
  await browser.post('/account/discord/unlink');
  expect(await stored()).toBeUndefined();
});

test('unlinking Discord asks first, then forgets the account', async () => {
  await link();
  expect((await browser.get('/account')).text).toContain(en.discord.unlinkTitle);
  const page = await browser.post('/account/discord/unlink');
  expect([page.status, page.location]).toEqual([303, '/account#discord']);
  expect(await userOf()).toMatchObject({ discordId: null, discordUsername: '', discordAvatar: '' });
  const entries = await db.select().from(auditLog).where(eq(auditLog.subject, steam.steamId));
  expect(entries.at(-1)?.action).toBe('discord.unlinked');
});

test('the start and the return of a link count as attempts of the address', async () => {
  attempts.length = 0;
  allowed = 0;
  const refused = await browser.post('/account/discord/link');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '9']);

  allowed = 2;
  const back = await browser.follow(await browser.post('/account/discord/link'));
  expect((await browser.follow(back)).status).toBe(429);
  expect(await userOf()).toMatchObject({ discordId: null });
  expect(attempts).toEqual(Array(3).fill('127.0.0.1'));

  allowed = Number.POSITIVE_INFINITY;
  expect((await browser.follow(back)).status).toBe(303);
  expect(await userOf()).toMatchObject({ discordId: discord.account.id });
});

const REDIRECT_URI = `${site.origin}/account/discord/return`;
const PENDING = { state: 'c3RhdGU', codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' };

let revokeFailures: unknown[];
const client: DiscordOAuth = {
  apiUrl: discord.apiUrl,
  clientId: discord.clientId,
  clientSecret: discord.clientSecret,
  redirectUri: REDIRECT_URI,
  fetch,
  timeoutMs: 400,
  onRevokeFailed: (cause) => revokeFailures.push(cause),
};
beforeEach(() => {
  discord.requests = [];
  discord.liveTokens.clear();
  revokeFailures = [];
});

/** Goes through the consent page and returns the query that Discord redirects back with. */
async function aReturn(pending = PENDING): Promise<string> {
  const response = await fetch(buildAuthorizationUrl(client, pending), { redirect: 'manual' });
  expect(response.status).toBe(302);
  return new URL(response.headers.get('location') ?? '').search.slice(1);
}

async function refusal(query: string, pending = PENDING): Promise<string | undefined> {
  try {
    await fetchDiscordAccount(client, query, pending);
    return undefined;
  } catch (error) {
    if (error instanceof LinkRefused) return error.reason;
    throw error;
  }
}

test('a link asks for a code with the scope identify, the exact redirect and the S256 challenge of RFC 7636', () => {
  const url = new URL(buildAuthorizationUrl(client, PENDING));
  expect(url.origin + url.pathname).toBe(`${discord.apiUrl}/oauth2/authorize`);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    response_type: 'code',
    client_id: discord.clientId,
    scope: 'identify',
    redirect_uri: REDIRECT_URI,
    state: PENDING.state,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
});

describe('a link', () => {
  test('gives id, username and avatar hash, and leaves no token behind', async () => {
    expect(await fetchDiscordAccount(client, await aReturn(), PENDING)).toEqual(discord.account);
    expect(discord.liveTokens.size).toBe(0);
    expect(discord.requests).toEqual([
      'GET /api/oauth2/authorize',
      'POST /api/oauth2/token',
      'GET /api/users/@me',
      'POST /api/oauth2/token/revoke',
    ]);
  });

  test('succeeds even if Discord does not revoke the token, which is reported', async () => {
    discord.conduct = 'will not revoke';
    expect(await fetchDiscordAccount(client, await aReturn(), PENDING)).toEqual(discord.account);
    expect(revokeFailures).toHaveLength(1);
  });

  test('refuses a state of another browser before Discord is asked, also where the link was cancelled', async () => {
    const query = await aReturn({ ...PENDING, state: 'other' });
    discord.consent = 'deny';
    expect(await refusal(await aReturn({ ...PENDING, state: 'other' }))).toBe('state');
    discord.requests = [];
    expect(await refusal(query)).toBe('state');
    expect(await refusal(query.replace('&state=other', '').replace('state=other&', ''))).toBe('state');
    expect(discord.requests).toBeEmpty();
  });

  test('refuses a code that was obtained with another PKCE verifier (code injection)', async () => {
    const query = await aReturn({ ...PENDING, codeVerifier: 'of-the-attacker-0123456789-0123456789-01234' });
    expect(await refusal(query)).toBe('code');
  });

  test('refuses repeated and unprintable parameters', async () => {
    const query = await aReturn();
    for (const extra of ['&code=x', `&state=${PENDING.state}`, '&iss=%00', '&error_uri=%0A']) {
      expect([extra, await refusal(query + extra)]).toEqual([extra, 'callback']);
    }
    expect(await refusal(`${query}&iss=${'x'.repeat(5_000)}`)).toBe('callback');
    expect(await refusal(`state=${PENDING.state}`)).toBe('callback');
    expect(await refusal(`state=${PENDING.state}&error=server_error&code=x`)).toBe('callback');
  });

  test('refuses a token with a wider scope than asked for, and revokes it', async () => {
    discord.conduct = 'widens the scope';
    expect(await refusal(await aReturn())).toBe('code');
    expect(discord.liveTokens.size).toBe(0);
  });

  test('refuses a response that is not an account', async () => {
    const query = await aReturn();
    discord.account = { ...discord.account, id: '1 OR 1=1' };
    expect(await refusal(query)).toBe('account');
    expect(discord.liveTokens.size).toBe(0);
    const another = await aReturn();
    discord.conduct = 'answers in HTML';
    expect(await refusal(another)).toBe('account');
  });
});

test('a Discord that fails or does not respond is unavailable, not a refusal', async () => {
  for (const conduct of ['fails', 'never answers'] as const) {
    const query = await aReturn();
    discord.conduct = conduct;
    await expect(fetchDiscordAccount(client, query, PENDING)).rejects.toBeInstanceOf(Unavailable);
    discord.conduct = 'honest';
  }
});
