import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../../bot/locales/localization.ts';
import { compareServer } from '../../../../bot/posting/feeds/server-feed.ts';
import { discordFeedServers, discordFeeds } from '../../../../src/db/schema/discord.ts';
import { servers } from '../../../../src/db/schema/servers.ts';
import type { ServerView } from '../../../../src/live/server-view.ts';
import { saveFeedServers } from '../../../../src/queries/discord/feed-servers.ts';
import { listDiscordFeeds } from '../../../../src/queries/discord/feeds.ts';
import { startFeedBot } from '../../../support/bot/feeds.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { refuse } from '../../../support/discord/faults.ts';
import { waitFor } from '../../../support/wait.ts';

const { en } = BOT_TEXTS;
const down = (name: string) => `🔴 ${en.feed.one.down(name, 0)}`;
const up = (name: string) => `🟢 ${en.feed.one.up(name, 0)}`;

let now = new Date();
const { fake, db, bot, poll, startFeed } = await startFeedBot({ now: () => now });
const role = { role: { id: '950000000000000001', name: 'Players', mentionable: true } };
beforeEach(async () => {
  await db.delete(discordFeeds);
  await db.delete(servers);
  fake.clearFaults();
});

async function addServer(name: string, playersCount = 0): Promise<number> {
  const { id } = await insertServer(db, { name, slug: name.toLowerCase() });
  await poll(id, { playersCount });
  return id;
}
const settle = () => bot.wakeFeeds();
/** Starts a feed without patience, and waits until it has recorded the state of the servers. */
async function startNoted(...[options, ...rest]: Parameters<typeof startFeed>) {
  const feed = await startFeed({ after: 0, ...options }, ...rest);
  await waitFor(async () => (await db.select().from(discordFeedServers)).length > 0);
  return feed;
}
async function pollAs(id: number, ...counts: (number | 'missed')[]): Promise<void> {
  for (const count of counts) {
    await poll(id, count === 'missed' ? undefined : { playersCount: count });
    await settle();
  }
}

describe('a feed of servers', () => {
  test('posts that a server is down after two misses, and that it is back, mentioning nobody', async () => {
    const id = await addServer('Mirage', 3);
    const feed = await startNoted({ what: 'servers', players: 10, role });
    await pollAs(id, 3, 'missed');
    expect(feed.messages()).toEqual([]);
    await pollAs(id, 'missed', 'missed', 'missed');
    expect(feed.messages()).toMatchObject([
      {
        content: down('Mirage'),
        allowedMentions: { parse: [] },
        embeds: [{ description: expect.stringMatching(new RegExp(`^${en.feed.lastSeen('<t:\\d+:R>')}`)) }],
      },
    ]);
    await pollAs(id, 5, 5);
    expect(feed.messages().slice(1)).toMatchObject([
      {
        content: up('Mirage'),
        mention_roles: [],
        embeds: [{ description: 'de\\_mirage · 5/32' }],
        components: [
          {
            components: [
              { label: en.buttons.connect, url: 'https://play.example.org/connect/mirage' },
              { label: en.buttons.site, url: 'https://play.example.org/servers/mirage' },
            ],
          },
        ],
      },
    ]);
  });

  test('posts nothing about a server that is down when it starts, or that is new', async () => {
    const id = await addServer('Down');
    await pollAs(id, 'missed', 'missed');
    const feed = await startNoted({ what: 'servers', players: 5 });
    const fresh = await addServer('New', 9);
    await settle();
    expect(feed.messages()).toEqual([]);
    await pollAs(fresh, 'missed', 'missed');
    expect(feed.titles()).toEqual([down('New')]);
  });

  test('keeps to its server, and posts several at once in one message, in Polish', async () => {
    const ids = [await addServer('Alpha'), await addServer('Beta'), await addServer('Gamma')];
    const all = await startNoted({ what: 'servers' }, { guildLocale: 'pl' });
    const one = await startNoted({ what: 'servers', server: 'beta' });
    await settle();
    for (const miss of [1, 2]) await poll(ids, undefined, new Date(Date.now() + miss));
    await settle();
    expect(all.titles()).toEqual(['🔴 Offline: 3 serwery']);
    expect(all.messages()[0]?.embeds[0]?.description?.split('\n')).toEqual([
      expect.stringContaining('**Alpha** · Ostatnio widziany <t:'),
      expect.stringContaining('**Beta**'),
      expect.stringContaining('**Gamma**'),
    ]);
    expect(one.titles()).toEqual([down('Beta')]);
  });

  test('a server feed reports servers that change within a minute in one message', async () => {
    const names = ['Alpha', 'Beta', 'Gamma'];
    const ids: number[] = [];
    for (const name of names) ids.push(await addServer(name));
    const feed = await startNoted({ what: 'servers' }, { guildLocale: 'pl' });
    const words = BOT_TEXTS.pl.feed.several;
    for (const id of ids) {
      await pollAs(id, 'missed', 'missed');
      now = new Date(now.getTime() + 20_000);
    }
    for (const id of ids) await pollAs(id, 1);
    expect(feed.titles()).toEqual([`🔴 ${words.down(3)}`, `🟢 ${words.up(3)}`]);
    for (const { embeds } of feed.messages()) {
      expect([...(embeds[0]?.description?.match(/Alpha|Beta|Gamma/g) ?? [])]).toEqual(names);
    }
    // The minute is over.
    now = new Date(now.getTime() + 60_000);
    await pollAs(ids[0] ?? 0, 'missed', 'missed');
    expect(feed.messages()).toHaveLength(3);
  });

  test('a server feed posts the third outage within an hour as "keeps going down", then nothing until an hour without one', async () => {
    const id = await addServer('Crash');
    const feed = await startNoted({ what: 'servers' });
    const crash = async (minutes: number) => {
      await pollAs(id, 'missed', 'missed');
      now = new Date(now.getTime() + 60_000);
      await pollAs(id, 1);
      now = new Date(now.getTime() + (minutes - 1) * 60_000);
    };
    for (let outage = 0; outage < 6; outage++) await crash(10);
    const said = [down('Crash'), up('Crash'), down('Crash'), up('Crash')];
    const last = `🔴 ${en.feed.one.flapping('Crash', 0)}`;
    expect(feed.titles()).toEqual([...said, last]);
    expect(feed.messages().at(-1)?.embeds[0]?.description).toBe(en.feed.flapping);
    await crash(62);
    await crash(10);
    expect(feed.titles()).toEqual([...said, last, down('Crash'), up('Crash')]);
  });

  test('a server feed posts nothing when a server comes back that was down when the feed began', async () => {
    const id = await addServer('Down');
    await pollAs(id, 'missed', 'missed');
    const feed = await startNoted({ what: 'servers' });
    await pollAs(id, 3);
    expect(feed.messages()).toEqual([]);
    await pollAs(id, 'missed', 'missed', 3);
    expect(feed.titles()).toEqual([down('Down'), up('Down')]);
  });

  test('keeps pending changes when its settings change, unless it no longer covers the server', async () => {
    const ids = [await addServer('Alpha'), await addServer('Beta')];
    const feed = await startNoted({ what: 'servers' });
    feed.fail('POST', refuse(503), 1000);
    for (const miss of [1, 2]) await poll(ids, undefined, new Date(Date.now() + miss));
    await settle();
    await fake.command('feed start', { what: 'servers', server: 'alpha' }, feed.manager);
    expect(await db.select().from(discordFeedServers)).toMatchObject([
      { serverId: ids[0], isOnline: false, pending: 'down' },
    ]);
    // A message that was being repeated when the settings changed would still name both.
    await settle();
    fake.clearFaults();
    await waitFor(() => feed.messages().length > 0);
    expect(feed.titles()).toEqual([down('Alpha')]);
  });
});

describe('the patience of a feed', () => {
  const minutesLater = (minutes: number) => {
    now = new Date(now.getTime() + minutes * 60_000);
  };
  const changes = async () => (await db.select().from(discordFeedServers)).map(({ pending }) => pending);

  test('a server is posted as offline after three minutes by default', async () => {
    const id = await addServer('Mirage', 3);
    const feed = await startNoted({ what: 'servers' });
    await db.update(discordFeeds).set({ afterMinutes: sql`default` });
    await pollAs(id, 'missed', 'missed');
    minutesLater(2.9);
    await pollAs(id, 'missed');
    expect(feed.messages()).toEqual([]);
    minutesLater(0.1);
    await settle();
    expect(feed.titles()).toEqual([down('Mirage')]);
    await pollAs(id, 1);
    expect(feed.titles().slice(1)).toEqual([up('Mirage')]);
  });

  test('says nothing of a server that is back in time, and calls nobody to it again', async () => {
    const id = await addServer('Mirage', 12);
    const feed = await startNoted({ what: 'servers', after: 60, players: 10 });
    await pollAs(id, 'missed', 'missed');
    minutesLater(59);
    await pollAs(id, 12, 12);
    expect(feed.messages()).toEqual([]);
    expect(await changes()).toEqual([null]);
    // It counts as online again: the next outage waits as long.
    await pollAs(id, 'missed', 'missed');
    minutesLater(59);
    await settle();
    expect(feed.messages()).toEqual([]);
    minutesLater(1);
    await settle();
    expect(feed.titles()).toEqual([down('Mirage')]);
  });

  test('a server is posted as offline although the clock ran ahead by hours', async () => {
    const id = await addServer('Mirage');
    const feed = await startNoted({ what: 'servers', after: 3 });
    minutesLater(600);
    await pollAs(id, 'missed', 'missed');
    minutesLater(-600);
    await settle();
    expect(feed.titles()).toEqual([down('Mirage')]);
  });
});

describe('after an outage of Discord', () => {
  /** Starts a feed of a server with two players, polls the server while Discord fails, and ends the outage. */
  async function missNews(...counts: (number | 'missed')[]) {
    const id = await addServer('Retake', 2);
    const feed = await startNoted({ what: 'servers', players: 10, role });
    feed.fail('POST', refuse(503), 1000);
    await pollAs(id, ...counts);
    fake.clearFaults();
    await waitFor(async () => {
      await settle();
      const [state] = await db.select().from(discordFeedServers);
      return state?.pending === null && state.isOnline === (counts.at(-1) !== 'missed');
    });
    return feed;
  }

  test('nobody is called to a server that its players have left', async () => {
    expect((await missNews(10, 9)).messages()).toEqual([]);
  });

  test('nobody is called to a server that is down', async () => {
    const feed = await missNews(10, 'missed', 'missed');
    expect(feed.titles()).toEqual([down('Retake')]);
    expect(feed.messages()[0]?.mention_roles).toEqual([]);
  });

  test('players are called while they are wanted', async () => {
    const feed = await missNews(10, 12);
    expect(feed.titles()).toEqual([`👥 ${en.feed.one.players('Retake', 12)}`]);
  });

  test('a server that was not posted as offline is not posted as back online', async () => {
    expect((await missNews('missed', 'missed', 5)).titles()).toEqual([]);
  });
});

describe('players', () => {
  test('announces that players reached the number, mentioning the role and nobody else', async () => {
    const id = await addServer('Retake', 2);
    const feed = await startNoted({ what: 'servers', players: 10, role });
    await pollAs(id, 9, 10);
    expect(feed.messages()).toMatchObject([
      {
        content: `<@&950000000000000001> 👥 ${en.feed.one.players('Retake', 10)}`,
        allowedMentions: { parse: [], roles: ['950000000000000001'] },
        mention_roles: ['950000000000000001'],
        embeds: [{ description: 'de\\_mirage · 10/32' }],
      },
    ]);
  });

  test('a server feed announces players without a mention once its role is deleted', async () => {
    const id = await addServer('Retake', 2);
    const feed = await startNoted({ what: 'servers', players: 10, role });
    fake.guild.deletedRoles.add(role.role.id);
    await pollAs(id, 10);
    fake.guild.deletedRoles.clear();
    expect(feed.messages()).toMatchObject([
      { content: `👥 ${en.feed.one.players('Retake', 10)}`, mention_roles: [] },
    ]);
    expect(await db.select().from(discordFeeds)).toMatchObject([{ roleId: null, playersAtLeast: 10 }]);
  });

  test('announces players without a mention where no role is set', async () => {
    const id = await addServer('Retake');
    const feed = await startNoted({ what: 'servers', players: 1 }, { guildLocale: 'pl' });
    await pollAs(id, 1);
    expect(feed.messages()).toMatchObject([
      { content: '👥 Retake: gra już 1 gracz', allowedMentions: { parse: [] }, mention_roles: [] },
    ]);
  });

  test('announces players again only after they fell to three quarters, and an hour after the last time', async () => {
    now = new Date('2026-11-21T12:00:00Z');
    const id = await addServer('Retake', 12);
    const feed = await startNoted({ what: 'servers', players: 8 });
    const told = async (...counts: (number | 'missed')[]) => {
      await pollAs(id, ...counts);
      return feed.messages().length;
    };
    // It was full enough when the feed began.
    expect(await told(12, 8, 7, 8, 12)).toBe(0);
    expect(await told(6, 7, 8)).toBe(1);
    now = new Date('2026-11-21T13:30:00Z');
    // Small changes around the number are not posted, however long they last.
    expect(await told(7, 8, 7, 9)).toBe(1);
    expect(await told(6, 8)).toBe(2);
    now = new Date('2026-11-21T14:29:59Z');
    expect(await told(3, 8, 20)).toBe(2);
    // The hour is over, and they are still there.
    now = new Date('2026-11-21T14:30:00Z');
    expect(await told(20)).toBe(3);
    // A server that goes down meanwhile is posted as always.
    now = new Date('2026-11-21T18:00:00Z');
    expect(await told('missed', 'missed', 20)).toBe(5);
    expect(feed.titles().slice(3)).toEqual([down('Retake'), up('Retake')]);
  });

  test('announces players at most once an hour even if the settings change, and only when they reach a new number', async () => {
    now = new Date('2026-11-21T12:00:00Z');
    const id = await addServer('Retake', 2);
    const feed = await startNoted({ what: 'servers', players: 10, role });
    const change = (players: number) =>
      fake.command('feed start', { what: 'servers', players, role }, feed.manager);
    await pollAs(id, 10, 5);
    expect(feed.messages()).toHaveLength(1);
    now = new Date('2026-11-21T12:59:59Z');
    await change(10);
    await pollAs(id, 10);
    await change(8);
    await pollAs(id, 5, 8, 7);
    expect(feed.messages()).toHaveLength(1);
    // The hour is over: they are fewer than the new number, and then as many.
    now = new Date('2026-11-21T13:00:00Z');
    await change(9);
    await pollAs(id, 8, 9);
    expect(feed.messages()).toHaveLength(2);
    // There are more than the new number already.
    now = new Date('2026-11-21T14:00:00Z');
    await pollAs(id, 5);
    await change(4);
    await pollAs(id, 5, 6);
    expect(feed.messages()).toHaveLength(2);
  });

  test.each([
    ['announced an hour after the last message', 60, 'players'],
    ['not announced within an hour of it', 59, undefined],
    ['announced after a message of a time when the clock was ahead', -3000, 'players'],
  ])('players are %s', (_, minutesAgo, change) => {
    const calledAt = new Date(now.getTime() - minutesAgo * 60_000);
    const before = {
      serverId: 1,
      isOnline: true,
      hasPlayers: false,
      calledAt,
      pending: null,
      pendingSince: null,
      downAt: [],
    };
    const server = { id: 1, isOnline: true, playersCount: 10, updatedAt: now } as ServerView;
    expect(compareServer(before, server, { playersAtLeast: 10, now })?.pending).toBe(change as 'players');
  });

  test('a round that compared them with an earlier number records nothing', async () => {
    await addServer('Retake', 5);
    const { manager } = await startNoted({ what: 'servers', players: 10 });
    const [feed] = await listDiscordFeeds(db);
    const [state] = await db.select().from(discordFeedServers);
    if (!feed || !state) throw new Error('the feed is missing');
    await fake.command('feed start', { what: 'servers', players: 4 }, manager);
    await saveFeedServers(db, feed, [{ ...state, hasPlayers: false }]);
    expect(await db.select().from(discordFeedServers)).toMatchObject([{ hasPlayers: true }]);
  });
});
