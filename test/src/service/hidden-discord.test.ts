import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { auditLog, users } from '../../../src/db/schema/accounts.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { aToken, bearer } from '../../support/service/service.ts';
import { openWholeService } from '../../support/service/whole-service.ts';
import { waitFor } from '../../support/wait.ts';

const { db, service, signInAs, cli } = await openWholeService();
const HIDER = aSteamId(1);
const DISCORD_ID = '80351110224678912';
const link = { discordId: DISCORD_ID, discordUsername: 'rzeznik.pl', discordAvatar: 'abc' };
await insertUser(db, 1, { ...link, nickname: 'Rzeźnik' });
await insertUser(db, 2, { isAdmin: true });
await insertUser(db, 3, { isOwner: true });
await insertUser(db, 4, { discordId: '4', hidesDiscord: false });
const tokenOf = async (number: number) => (await aToken(db, number, { now: new Date() })).token;
const [OWN, ADMIN, OWNER, OTHER] = [await tokenOf(1), await tokenOf(2), await tokenOf(3), await tokenOf(4)];

const BLANK = { discord_id: '', discord_username: '', discord_avatar: '' };
const SHOWN = { discord_id: DISCORD_ID, discord_username: 'rzeznik.pl', discord_avatar: 'abc' };

/** What a token gets by every lookup: by Discord id and by SteamID, single and in a batch. */
async function see(token: string) {
  const ask = (path: string) => service.get(path, bearer(token));
  const discord = await ask(`/users/lookup?discord_id=${DISCORD_ID}`);
  const steam = (await ask(`/users/lookup?steamid64=${HIDER}`)).body as { user: typeof SHOWN };
  const byDiscord = await ask(`/users/lookup/batch?discord_ids=${DISCORD_ID},4`);
  const bySteam = await ask(`/users/lookup/batch?steamids=${HIDER}`);
  return {
    byDiscord: discord.status,
    inBatch: usersOf(byDiscord.body).map((user) => user !== null),
    one: pick(steam.user),
    many: usersOf(bySteam.body).map((user) => user && pick(user)),
  };
}
const usersOf = (body: unknown) =>
  (body as { data: { user: typeof SHOWN | null }[] }).data.map(({ user }) => user);
const pick = ({ discord_id, discord_username, discord_avatar }: typeof SHOWN) => ({
  discord_id,
  discord_username,
  discord_avatar,
});
const OPEN = { byDiscord: 200, inBatch: [true, true], one: SHOWN, many: [SHOWN] };
const HIDDEN = { byDiscord: 404, inBatch: [false, true], one: BLANK, many: [BLANK] };

describe('a hidden Discord account', () => {
  test('a link hidden on the account page is hidden from tokens of members, not from admins and its owner', async () => {
    expect(await see(OTHER)).toEqual(OPEN);
    const browser = await signInAs(1);
    expect((await browser.get('/account')).text).toContain('Hide the link');
    const hidden = await browser.follow(await browser.post('/account/discord/visibility', { hidden: 'yes' }));
    expect(hidden.text).toContain(PAGE_TEXTS.en.notices['discord-hidden']);
    expect(hidden.text).toContain('Show the link');

    expect(await see(OTHER)).toEqual(HIDDEN);
    for (const token of [OWN, ADMIN, OWNER]) expect(await see(token)).toEqual(OPEN);
    const absent = await service.get(`/users/lookup?discord_id=${DISCORD_ID}`, bearer(OTHER));
    expect(absent.body).toEqual({ success: false, message: 'User not found' });

    await browser.post('/account/discord/visibility', { hidden: 'no' });
    expect(await see(OTHER)).toEqual(OPEN);
    expect((await browser.post('/account/discord/visibility', { hidden: 'maybe' })).status).toBe(400);
    const entries = await db.select().from(auditLog).where(eq(auditLog.subject, HIDER));
    const actions = entries.map(({ action }) => action).filter((action) => action.startsWith('discord.'));
    expect(actions).toEqual(['discord.hidden', 'discord.shown']);
  });

  test('the operator hides and shows a Discord link', async () => {
    expect(await cli('users', 'set', '--steamid64', HIDER, '--hide-discord')).toMatchObject({ code: 0 });
    expect(await see(OTHER)).toEqual(HIDDEN);
    expect(await cli('users', 'set', '--steamid64', HIDER, '--nickname', 'R')).toMatchObject({ code: 0 });
    expect(await see(OTHER)).toEqual(HIDDEN);
    expect(await cli('users', 'set', '--steamid64', HIDER, '--no-hide-discord')).toMatchObject({ code: 0 });
    expect(await see(OTHER)).toEqual(OPEN);
  });

  test('a hidden link is hidden from a token whose owner is no longer an admin', async () => {
    await db.update(users).set({ hidesDiscord: true }).where(eq(users.steamId64, HIDER));
    expect(await see(ADMIN)).toEqual(OPEN);
    await db
      .update(users)
      .set({ isAdmin: false })
      .where(eq(users.steamId64, aSteamId(2)));
    const byDiscord = () => service.ask(`/api/v1/users/lookup?discord_id=${DISCORD_ID}`, bearer(ADMIN));
    const isHidden = async () => (await byDiscord()).status === 404;
    await waitFor(isHidden);
    expect(await see(ADMIN)).toEqual(HIDDEN);
  });
});
