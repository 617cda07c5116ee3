import { expect, test } from 'bun:test';
import { startTestBot } from '../../support/bot/bot.ts';
import { createFeedStarter } from '../../support/bot/feeds.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { waitFor } from '../../support/wait.ts';

const GUILD = '900000000000000001';
const timings = { drainMs: 1000, feedIntervalMs: 50, applicationCheckMs: 50 };

async function startBot() {
  const harness = await startTestBot({ bot: { timings } });
  await harness.connect();
  return {
    harness,
    linesAbout: (text: string) => harness.lines.filter(({ msg }) => msg.includes(text)),
  };
}

test('feeds are paused while anybody may add the bot to a guild, and continue once the guild is named', async () => {
  const { harness, linesAbout } = await startBot();
  const { fake, db, bot } = harness;
  const startFeed = createFeedStarter(harness);
  const feed = await startFeed({ what: 'penalties' });
  const servers = await startFeed({ what: 'servers' });
  await insertPenalties(db, [{}]);
  await waitFor(() => feed.messages().length === 1);

  fake.state.botIsPublic = true;
  await waitFor(() => bot.health().moderators !== undefined);
  await insertPenalties(db, [{}]);
  await waitFor(() => linesAbout('the feeds of a guild are paused').length > 0);
  for (let look = 0; look < 3; look++) await bot.wakeFeeds();
  expect(feed.messages()).toHaveLength(1);
  expect(servers.messages()).toEqual([]);
  // Logged once for both feeds.
  expect(linesAbout('the feeds of a guild are paused')).toMatchObject([
    { guildId: GUILD, reason: 'nobody: the application is public and DISCORD_GUILD_ID is not set' },
  ]);

  await bot.stop();
  const atHome = await harness.startNext({ guildId: GUILD });
  await waitFor(() => feed.messages().length === 2);
  await atHome.stop();
  expect(linesAbout('the feeds of a guild are paused')).toHaveLength(1);
});

test('feeds continue when the application is private again, and are paused if DISCORD_GUILD_ID names another guild', async () => {
  const { harness, linesAbout } = await startBot();
  const { fake, db, bot } = harness;
  const feed = await createFeedStarter(harness)({ what: 'penalties' });
  fake.state.botIsPublic = true;
  await waitFor(() => linesAbout('the feeds of a guild are paused').length === 1);
  await insertPenalties(db, [{}]);
  fake.state.botIsPublic = false;
  await waitFor(() => feed.messages().length === 1);
  expect(linesAbout('the feeds of a guild continue')).toHaveLength(1);

  await bot.stop();
  const elsewhere = await harness.startNext({ guildId: '900000000000000002' });
  await waitFor(() => linesAbout('the feeds of a guild are paused').length === 2);
  await insertPenalties(db, [{}]);
  await elsewhere.wakeFeeds();
  await elsewhere.stop();
  expect(feed.messages()).toHaveLength(1);
  expect(linesAbout('the feeds of a guild are paused')[1]).toMatchObject({
    guildId: GUILD,
    reason: 'DISCORD_GUILD_ID names another guild',
  });
  const everywhere = await harness.startNext();
  await waitFor(() => feed.messages().length === 2);
  await everywhere.stop();
});
