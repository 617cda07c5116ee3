import { beforeEach, describe, expect, test } from 'bun:test';
import { eq, inArray } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordFeedPosts, discordFeeds } from '../../../src/db/schema/discord.ts';
import { penalties, penaltySources } from '../../../src/db/schema/penalties.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { recordExpiredPenalties } from '../../../src/queries/penalties/events.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import {
  changePenalty,
  createFeedStarter,
  insertMany,
  settleFeeds,
  titleOfBan,
} from '../../support/bot/feeds.ts';
import { aSteamId, insertPenalties, insertServer } from '../../support/database/builders.ts';
import { slowDown } from '../../support/discord/faults.ts';
import { waitFor } from '../../support/wait.ts';

const { en, pl } = BOT_TEXTS;
/** As within a sentence. */
const lower = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 50 } } });
const { fake, db, bot } = harness;
const startFeed = createFeedStarter(harness);
const server = await insertServer(db, { name: 'Mirage *24/7*' });
await harness.refreshServers();
await harness.connect();
beforeEach(async () => {
  await db.delete(discordFeeds);
  fake.clearFaults();
});

const ERASED_WITH_PENALTIES = {
  withPenalties: true,
  actor: 'operator' as const,
  removeSounds: async () => {},
};
const settle = () => settleFeeds(harness);
const now = () => new Date(Math.floor(Date.now() / 1000) * 1000);

describe('a feed of penalties', () => {
  test('shows a new penalty with everything a moderator asks, and mentions nobody', async () => {
    const feed = await startFeed({ what: 'penalties' });
    const createdAt = now();
    const [ban] = await insertPenalties(db, [
      {
        playerName: '@everyone *x*',
        reason: '`wall` <@&1>',
        durationMinutes: 90,
        createdAt,
        endsAt: new Date(createdAt.getTime() + 90 * 60_000),
        serverId: server.id,
      },
    ]);
    await settle();
    const at = createdAt.getTime() / 1000;
    expect(feed.messages()).toMatchObject([
      {
        content: `⛔ \\@everyone \\*x\\* · ${lower(en.record.inForce.ban.during(en.record.durationInWords(90)))}`,
        mention_roles: [],
        allowedMentions: { parse: [] },
        components: [
          {
            components: [
              { label: en.buttons.record, custom_id: `record.open:${aSteamId(1)}` },
              {
                label: en.buttons.site,
                url: `https://play.example.org/account/moderation/users/${aSteamId(1)}`,
              },
              { label: en.buttons.profile, url: `https://steamcommunity.com/profiles/${aSteamId(1)}` },
            ],
          },
        ],
      },
    ]);
    expect(feed.messages()[0]?.embeds).toEqual([
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
        {},
        {},
        {},
        {},
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
    const createdAt = new Date(now().getTime() - 60_000);
    const endsAt = new Date(createdAt.getTime() + 3_600_000);
    const rows = await insertMany(db, 5, { createdAt, durationMinutes: 60, endsAt });
    await settle();
    const [changed, lifted, expired, gone, deleted] = rows.map(({ id }) => id);
    const set = (id: number | undefined, values: Parameters<typeof changePenalty>[2]) =>
      changePenalty(db, id === undefined ? undefined : { id }, values);
    await set(changed, { reason: 'Another reason' });
    await set(lifted, {
      status: 'UNBANNED',
      liftedAt: now(),
      liftedByName: 'Ola',
      liftReason: 'Appeal',
    });
    await set(expired, { endsAt: new Date(now().getTime() - 1000) });
    await recordExpiredPenalties(db, new Date());
    await set(gone, { goneAt: now() });
    await db.delete(penalties).where(eq(penalties.id, deleted ?? 0));
    await settle();
    expect(feed.titles()).toEqual([
      titleOfBan(changed, 'ACTIVE'),
      titleOfBan(lifted, 'UNBANNED'),
      titleOfBan(expired, 'EXPIRED'),
      titleOfBan(gone, 'REMOVED'),
      titleOfBan(deleted, 'REMOVED'),
    ]);
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
    expect(feed.messages().at(-1)?.embeds).toEqual([
      { title: titleOfBan(deleted, 'REMOVED'), color: 0x747f8d },
    ]);
    expect(await db.select().from(discordFeedPosts)).toHaveLength(4);
    const edits = feed.requests('PATCH').length;
    await set(changed, { reason: 'A third one' });
    await settle();
    expect(feed.requests('PATCH')).toHaveLength(edits + 1);
  });

  test('a removed penalty stays removed when its player is erased or its end comes, until it is back', async () => {
    const feed = await startFeed({ what: 'penalties' });
    const createdAt = new Date(now().getTime() - 60_000);
    const rows = await insertPenalties(db, [
      { playerSteamId: aSteamId(78) },
      { createdAt, durationMinutes: 60, endsAt: new Date(createdAt.getTime() + 3_600_000) },
    ]);
    const [erased, ended] = rows.map(({ id }) => id);
    const areThese = inArray(
      penalties.id,
      rows.map(({ id }) => id),
    );
    await settle();
    await db.update(penalties).set({ goneAt: now() }).where(areThese);
    await settle();
    const removed = [titleOfBan(erased, 'REMOVED'), titleOfBan(ended, 'REMOVED')];
    expect(feed.titles()).toEqual(removed);
    await erasePerson(db, aSteamId(78), ERASED_WITH_PENALTIES);
    await changePenalty(db, rows[1], { endsAt: new Date(now().getTime() - 1000) });
    await recordExpiredPenalties(db, new Date());
    await settle();
    expect(feed.titles()).toEqual(removed);
    await db.update(penalties).set({ goneAt: null }).where(areThese);
    await settle();
    expect(feed.titles()).toEqual([titleOfBan(erased, 'ACTIVE'), titleOfBan(ended, 'EXPIRED')]);
  });

  test('the feed goes on when somebody deleted a message', async () => {
    const feed = await startFeed({ what: 'penalties' });
    const [row] = await insertPenalties(db, [{}]);
    await settle();
    fake.goneMessages.add(feed.messages()[0]?.id ?? '');
    await changePenalty(db, row, { reason: 'x' });
    await settle();
    await insertPenalties(db, [{}]);
    await settle();
    expect(feed.messages()).toHaveLength(2);
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

    await harness.connection`truncate penalties`;
    await settle();
    expect(feed.titles()).toEqual([titleOfBan(lifted?.id, 'REMOVED'), titleOfBan(other?.id, 'REMOVED')]);
  });
});

describe('many at once', () => {
  test('20 are shown one by one, 500 become one summary, whose penalties are edited nowhere', async () => {
    const feed = await startFeed({ what: 'penalties' }, { guildLocale: 'pl' });
    await insertMany(db, 20);
    await settle();
    expect(feed.messages()).toHaveLength(20);
    const rows = await insertPenalties(
      db,
      Array.from({ length: 500 }, (_, number) => ({
        type: number < 480 ? ('ban' as const) : ('gag' as const),
      })),
    );
    await settle();
    expect(feed.messages()).toHaveLength(21);
    expect(feed.messages().at(-1)).toMatchObject({
      content: '🔴 500 nowych kar',
      embeds: [
        {
          description: expect.stringMatching(
            /^480 banów · 20 blokad czatu\nPierwsza: <t:\d+:R>\. Tylu kar naraz/,
          ),
        },
      ],
    });
    await db
      .update(penalties)
      .set({ reason: 'x' })
      .where(
        inArray(
          penalties.id,
          rows.slice(0, 50).map(({ id }) => id),
        ),
      );
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
});

test('a message about somebody who is erased no longer names them, while their penalty is in force', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await insertPenalties(db, [{ playerSteamId: aSteamId(77), playerName: 'Erased one' }]);
  await settle();
  expect(JSON.stringify(feed.messages())).toContain('Erased one');
  await erasePerson(db, aSteamId(77), ERASED_WITH_PENALTIES);
  await settle();
  expect(feed.messages()).toHaveLength(1);
  expect(JSON.stringify(feed.messages())).not.toMatch(new RegExp(`Erased one|${aSteamId(77)}`));
});
