import { beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../../bot/locales/localization.ts';
import { discordFeedPosts, discordFeeds } from '../../../../src/db/schema/discord.ts';
import { penalties, penaltySources } from '../../../../src/db/schema/penalties.ts';
import { FORMER_ADMIN } from '../../../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../../../src/domain/steam-id.ts';
import { recordExpiredPenalties } from '../../../../src/queries/events.ts';
import { PUBLIC_URL } from '../../../support/bot/bot.ts';
import { changePenalty, insertMany, lasting, startFeedBot, titleOfBan } from '../../../support/bot/feeds.ts';
import { aSteamId, erase, insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { anActor } from '../../../support/discord/actor.ts';
import { textOf } from '../../../support/discord/exchange.ts';
import { slowDown } from '../../../support/discord/faults.ts';
import { componentsOf, findButton } from '../../../support/discord/messages.ts';
import { waitFor } from '../../../support/wait.ts';

const { en, pl } = BOT_TEXTS;
/** As within a sentence. */
const lower = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

const { fake, db, bot, connection, refreshServers, startFeed, settle } = await startFeedBot({
  arePenaltiesPublic: true,
});
const server = await insertServer(db, { name: 'Mirage *24/7*' });
await refreshServers();
beforeEach(async () => {
  await db.delete(discordFeeds);
  await db.delete(penalties);
  fake.clearFaults();
});

const now = () => new Date(Math.floor(Date.now() / 1000) * 1000);

describe('a feed of penalties', () => {
  test('shows a new penalty with everything a moderator asks, and mentions nobody', async () => {
    const feed = await startFeed({ what: 'penalties' });
    const createdAt = now();
    const texts = { playerName: '@everyone *x*', reason: '`wall` <@&1>' };
    const [ban] = await insertPenalties(db, [{ ...texts, ...lasting(90, createdAt), serverId: server.id }]);
    await settle();
    const at = createdAt.getTime() / 1000;
    const [message, ...others] = feed.messages();
    expect(others).toEqual([]);
    expect(message).toMatchObject({
      content: `⛔ \\@everyone \\*x\\* · ${lower(en.record.inForce.ban.during(en.record.durationInWords(90)))}`,
      mention_roles: [],
      allowedMentions: { parse: [] },
    });
    expect(componentsOf(message)).toMatchObject([
      { label: en.buttons.record, custom_id: `record.open:${aSteamId(1)}` },
      { label: en.buttons.site, url: `${PUBLIC_URL}/penalties?q=${aSteamId(1)}` },
      { label: en.buttons.profile, url: `https://steamcommunity.com/profiles/${aSteamId(1)}` },
    ]);
    expect(message?.embeds).toEqual([
      {
        title: titleOfBan(ban?.id, 'ACTIVE'),
        color: 0xed4245,
        description: `**${en.record.reason}:** \\\`wall\\\` \\<\\@&1\\>`,
        fields: [
          { name: en.feed.player, value: `\\@everyone \\*x\\*\n\`${aSteamId(1)}\``, inline: true },
          { name: en.record.duration, value: en.record.durationInWords(90), inline: true },
          { name: en.record.issued, value: `<t:${at}:f> (<t:${at}:R>)`, inline: true },
          { name: en.record.ends, value: `<t:${at + 5400}:f> (<t:${at + 5400}:R>)`, inline: true },
          { name: en.record.admin, value: 'Ala', inline: true },
          { name: en.record.server, value: 'Mirage \\*24/7\\*', inline: true },
        ],
      },
    ]);
  });

  test('speaks the language of the guild, and knows players without a name or SteamID', async () => {
    const feed = await startFeed({ what: 'penalties' }, { guildLocale: 'pl' });
    const inAnHour = new Date(Date.now() + 61 * 60_000);
    await insertPenalties(db, [
      { type: 'mute', playerName: '', playerSteamId: aSteamId(5) },
      { playerName: '', playerSteamId: UNKNOWN_STEAM_ID, durationMinutes: 61, endsAt: inAnHour },
    ]);
    await settle();
    expect(feed.messages().map(({ content }) => content)).toEqual([
      `⚠️ ${pl.user.unnamed} · wyciszenie głosu na stałe`,
      `⛔ ${pl.feed.unknownPlayer} · ban na 1 godzinę i 1 minutę`,
    ]);
    expect(feed.messages()[1]?.embeds[0]?.fields?.[0]).toMatchObject({
      name: pl.feed.player,
      value: pl.feed.unknownPlayer,
    });
    expect(feed.messages()[1]?.components).toEqual([]);
    expect(feed.messages()[0]?.embeds[0]).toMatchObject({
      title: expect.stringMatching(/^🔴 Wyciszenie głosu #\d+ · aktywne$/u),
      fields: [
        { name: pl.feed.player, value: `${pl.user.unnamed}\n\`${aSteamId(5)}\`` },
        { name: pl.record.duration, value: pl.record.permanent },
        ...Array(4).fill({}),
      ],
    });
  });

  test('begins with new penalties, and keeps to its types and its server', async () => {
    await insertPenalties(db, [{ type: 'ban' }]);
    const all = await startFeed({ what: 'penalties' });
    const bans = await startFeed({ what: 'penalties', types: 'ban' });
    const here = await startFeed({ what: 'penalties', server: server.slug });
    await insertPenalties(db, [
      { type: 'ban', serverId: 0 },
      { type: 'gag', serverId: server.id },
    ]);
    await settle();
    expect(all.titles()).toHaveLength(2);
    expect(bans.titles()).toEqual([expect.stringContaining(`${en.record.types.ban} #`)]);
    expect(here.titles()).toEqual([expect.stringContaining(`${en.record.types.gag} #`)]);
  });

  test('posts nothing of a first import, nor penalties that ended long ago', async () => {
    const feed = await startFeed({ what: 'penalties' });
    await db.insert(penaltySources).values({ name: 'old', kind: 'ndjson', address: '' });
    const long = new Date('2020-01-01T00:00:00Z');
    await insertPenalties(db, [
      { source: 'old', sourceTable: 'bans', sourceId: '1' },
      { status: 'EXPIRED', createdAt: long, endsAt: long, durationMinutes: 1 },
    ]);
    await settle();
    expect(feed.messages()).toEqual([]);
    await db.update(penaltySources).set({ completedAt: new Date() });
    await insertPenalties(db, [{ source: 'old', sourceTable: 'bans', sourceId: '2' }]);
    await settle();
    expect(feed.messages()).toHaveLength(1);
  });
});

describe('a message is edited', () => {
  test('a message is edited when its penalty is changed, lifted, expired or removed, and the other messages are not', async () => {
    const feed = await startFeed({ what: 'penalties' });
    const rows = await insertMany(db, 5, lasting(60, new Date(now().getTime() - 60_000)));
    await settle();
    const [changed, lifted, expired, gone, deleted] = rows;
    const lift = { status: 'UNBANNED', liftedAt: now(), liftedByName: 'Ola', liftReason: 'Appeal' } as const;
    await changePenalty(db, changed, { reason: 'Another reason' });
    await changePenalty(db, lifted, lift);
    await changePenalty(db, expired, { endsAt: new Date(now().getTime() - 1000) });
    await recordExpiredPenalties(db, new Date());
    await changePenalty(db, gone, { goneAt: now() });
    await db.delete(penalties).where(eq(penalties.id, deleted?.id ?? 0));
    await settle();
    const states = ['ACTIVE', 'UNBANNED', 'EXPIRED', 'REMOVED', 'REMOVED'] as const;
    expect(feed.titles()).toEqual(states.map((state, at) => titleOfBan(rows[at]?.id, state)));
    const { types, inForce, durationInWords, statusOf } = en.record;
    expect(feed.messages().map(({ content }) => content)).toEqual([
      `⛔ Rzeźnik · ${lower(inForce.ban.during(durationInWords(60)))}`,
      `🟢 Rzeźnik · ${lower(types.ban)} ${statusOf('ban', 'UNBANNED')}`,
      `⚪ Rzeźnik · ${lower(types.ban)} ${statusOf('ban', 'EXPIRED')}`,
      `🗑️ Rzeźnik · ${lower(types.ban)} ${statusOf('ban', 'REMOVED')}`,
      '',
    ]);
    const [first, second] = feed.messages();
    expect(first?.embeds[0]?.description).toBe('**Reason:** Another reason');
    expect(second?.embeds[0]?.fields?.at(-1)?.value).toContain('by Ola\n> Appeal');
    expect(feed.requests('POST')).toHaveLength(5);
    // A deleted penalty's message cannot change any more, not even when its player is erased: it names nobody.
    const nameless = { title: titleOfBan(deleted?.id, 'REMOVED'), color: 0x747f8d };
    expect(feed.messages().at(-1)?.embeds).toEqual([nameless]);
    expect(await db.select().from(discordFeedPosts)).toHaveLength(4);
    const edits = feed.requests('PATCH').length;
    await changePenalty(db, changed, { reason: 'A third one' });
    await settle();
    expect(feed.requests('PATCH')).toHaveLength(edits + 1);
  });

  test('a removed penalty stays removed when its player is erased or its end comes, until it is back', async () => {
    const feed = await startFeed({ what: 'penalties' });
    const rows = await insertPenalties(db, [
      { playerSteamId: aSteamId(78) },
      lasting(60, new Date(now().getTime() - 60_000)),
    ]);
    const [erased, ended] = rows.map(({ id }) => id);
    await settle();
    for (const row of rows) await changePenalty(db, row, { goneAt: now() });
    await settle();
    const removed = [titleOfBan(erased, 'REMOVED'), titleOfBan(ended, 'REMOVED')];
    expect(feed.titles()).toEqual(removed);
    await erase(db, aSteamId(78), { withPenalties: true });
    await changePenalty(db, rows[1], { endsAt: new Date(now().getTime() - 1000) });
    await recordExpiredPenalties(db, new Date());
    await settle();
    expect(feed.titles()).toEqual(removed);
    for (const row of rows) await changePenalty(db, row, { goneAt: null, status: 'ACTIVE', liftedAt: null });
    await settle();
    expect(feed.titles()).toEqual([titleOfBan(erased, 'ACTIVE'), titleOfBan(ended, 'EXPIRED')]);
  });

  test('the feed goes on when somebody deleted a message', async () => {
    const feed = await startFeed({ what: 'penalties' });
    const [row] = await insertPenalties(db, [{}]);
    await settle();
    fake.messages.delete(feed.messages()[0]?.id ?? '');
    await changePenalty(db, row, { reason: 'x' });
    await settle();
    await insertPenalties(db, [{}]);
    await settle();
    expect(feed.messages()).toHaveLength(1);
    expect(await db.select().from(discordFeedPosts)).toHaveLength(1);
  });

  test('a silent change of a penalty edits its message too', async () => {
    const feed = await startFeed({ what: 'penalties' });
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
    const [lifted, other] = await insertPenalties(db, [{ createdAt: daysAgo(3) }, {}]);
    await settle();
    expect(feed.titles()).toEqual([titleOfBan(lifted?.id, 'ACTIVE'), titleOfBan(other?.id, 'ACTIVE')]);

    // Two days ago, as reported by a mirror that could not reach its source since then.
    await changePenalty(db, lifted, { status: 'UNBANNED', liftedAt: daysAgo(2) });
    await settle();
    expect(feed.titles()).toEqual([titleOfBan(lifted?.id, 'UNBANNED'), titleOfBan(other?.id, 'ACTIVE')]);

    await connection`truncate penalties`;
    await settle();
    expect(feed.titles()).toEqual([titleOfBan(lifted?.id, 'REMOVED'), titleOfBan(other?.id, 'REMOVED')]);
  });
});

test('a feed shows 20 penalties one by one; 500 become one summary, whose penalties are edited nowhere', async () => {
  const feed = await startFeed({ what: 'penalties' }, { guildLocale: 'pl' });
  await insertMany(db, 20);
  await settle();
  expect(feed.messages()).toHaveLength(20);
  const types = Array.from({ length: 500 }, (_, number) => (number < 480 ? 'ban' : 'gag'));
  const rows = await insertPenalties(
    db,
    types.map((type) => ({ type })),
  );
  await settle();
  expect(feed.messages()).toHaveLength(21);
  const summary = /^480 banów · 20 blokad czatu\nPierwsza <t:\d+:R>\. Tyle kar naraz/;
  expect(feed.messages().at(-1)).toMatchObject({
    content: '🔴 500 nowych kar',
    embeds: [{ description: expect.stringMatching(summary) }],
  });
  expect(findButton(feed.messages().at(-1), pl.buttons.site)?.url).toBe(`${PUBLIC_URL}/penalties`);
  for (const row of rows.slice(0, 50)) await changePenalty(db, row, { reason: 'x' });
  await settle();
  expect(feed.requests('PATCH')).toEqual([]);
});

test('penalties that wait while Discord slows the channel down become a summary, and each is posted once', async () => {
  const feed = await startFeed({ what: 'penalties' });
  const other = await startFeed({ what: 'penalties' });
  feed.fail('POST', slowDown(2));
  await insertPenalties(db, [{}]);
  await waitFor(() => feed.requests('POST').length > 0);
  await insertMany(db, 30);
  bot.wakeFeeds();
  // The other channel is not slowed down.
  await waitFor(() => other.messages().length === 2 && feed.messages().length === 0);
  await settle();
  expect(feed.titles()).toEqual([
    expect.stringContaining(`${en.record.types.ban} #`),
    `🔴 ${en.feed.summaryTitle(30)}`,
  ]);
});

test('a message about somebody who is erased no longer names them, while their penalty is in force', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await insertPenalties(db, [{ playerSteamId: aSteamId(77), playerName: 'Erased one' }]);
  await settle();
  expect(JSON.stringify(feed.messages())).toContain('Erased one');
  await erase(db, aSteamId(77), { withPenalties: true });
  await settle();
  expect(feed.messages()).toHaveLength(1);
  expect(JSON.stringify(feed.messages())).not.toMatch(new RegExp(`Erased one|${aSteamId(77)}`));
});

const HOUR_MS = 3_600_000;
const createdAt = now();
/** The mute that an import with `--online-time` stores: it ends after an hour on the servers, nobody knows when. */
const MUTE_BY_ONLINE_TIME = {
  type: 'mute',
  durationMinutes: 60,
  endsAt: null,
  reason: 'Spam',
  createdAt,
} as const;
/** What CS2-SimpleAdmin stores for a warning that was lifted an hour before its end. */
const LIFTED_WARNING = {
  type: 'warn',
  status: 'EXPIRED',
  durationMinutes: 120,
  endsAt: new Date(createdAt.getTime() + HOUR_MS),
  reason: 'Rude',
  createdAt: new Date(createdAt.getTime() - HOUR_MS),
} as const;

const moderator = anActor({ isModerator: true });
const polish = { ...moderator, locale: 'pl' };

/** The lines of the player's record. */
async function linesOf(actor = moderator): Promise<string[]> {
  return textOf(await fake.command('ban-check', { steamid: aSteamId(1) }, actor)).split('\n');
}

test('a mute that counts the time online is not called permanent', async () => {
  await insertPenalties(db, [MUTE_BY_ONLINE_TIME]);
  const lines = await linesOf();
  expect(lines[0]).toBe(
    `### ⚠️ ${en.record.types.mute} · ${en.record.onlineTime(en.record.durationInWords(60))}: Spam`,
  );
  expect(lines[1]).toMatch(new RegExp(`^-# \\[#\\d+\\]\\(.*\\) · ${en.record.durationInWords(60)} · `));
  expect((await linesOf(polish))[0]).toBe(
    `### ⚠️ ${pl.record.types.mute} · ${pl.record.onlineTime(pl.record.durationInWords(60))}: Spam`,
  );
});

test('a permanent mute comes before one that counts the time online', async () => {
  await insertPenalties(db, [{ type: 'mute', reason: 'For ever', createdAt }, MUTE_BY_ONLINE_TIME]);
  expect((await linesOf())[0]).toBe(`### ⚠️ ${en.record.inForce.mute.permanently}: For ever`);
});

test('a feed does not say of such a mute that it never ends', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await insertPenalties(db, [MUTE_BY_ONLINE_TIME]);
  await settle();
  const fields = feed.messages()[0]?.embeds[0]?.fields ?? [];
  expect(fields.map(({ name }) => name)).toEqual([
    en.feed.player,
    en.record.duration,
    en.record.issued,
    en.record.admin,
    en.record.server,
  ]);
  expect(fields[1]?.value).toBe(en.record.onlineTime(en.record.durationInWords(60)));
});

test('a penalty that is over does not expire in the future', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await insertPenalties(db, [LIFTED_WARNING]);
  expect((await linesOf())[1]).toBe(
    `⚪ ${en.record.types.warn}: Rude – ${en.record.statusOf('warn', 'EXPIRED')}`,
  );
  await settle();
  expect(feed.messages()[0]?.embeds[0]?.fields?.map(({ name }) => name)).not.toContain(en.record.ended);
});

test('a ban leads, however many warnings have been active since', async () => {
  const warning = { type: 'warn', createdAt } as const;
  await insertPenalties(db, [
    { type: 'ban', reason: 'Wallhack', createdAt: new Date(createdAt.getTime() - HOUR_MS) },
    ...Array.from({ length: 60 }, () => warning),
  ]);
  expect((await linesOf())[0]).toBe(`### ⛔ ${en.record.inForce.ban.permanently}: Wallhack`);
});

test.each([
  ['an erased admin', FORMER_ADMIN, 'formerAdmin'],
  ['the console', 'Console', 'console'],
] as const)('%s is named in the language of the reader', async (_, name, text) => {
  const admin = { adminName: name, adminSteamId: UNKNOWN_STEAM_ID };
  const lifted = { status: 'UNBANNED', liftedAt: createdAt, liftedByName: name } as const;
  await insertPenalties(db, [{ ...admin, ...lifted, createdAt }]);
  const namesTwice = (words: typeof en.record) =>
    new RegExp(`: Wallhack – .* ${words.liftedBy(words.lifters[text])}\n.* · ${words[text]} · `);
  expect((await linesOf()).join('\n')).toMatch(namesTwice(en.record));
  expect((await linesOf(polish)).join('\n')).toMatch(namesTwice(pl.record));
});
