import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { liveStatusMessages } from '../../src/db/schema/discord.ts';
import { startTestBot } from '../support/bot/bot.ts';
import { createFeedStarter, settleFeeds } from '../support/bot/feeds.ts';
import { insertPenalties, insertServer } from '../support/database/builders.ts';
import { anActor } from '../support/discord/actor.ts';
import { embedOf } from '../support/discord/exchange.ts';
import { waitFor } from '../support/wait.ts';

/** A guild that is no Community guild, which Discord takes for English. */
const harness = await startTestBot({
  bot: { language: 'pl', timings: { feedIntervalMs: 50, liveIntervalMs: 20 } },
});
const { fake, db } = harness;
const { pl, en } = BOT_TEXTS;
const moderator = anActor({ isModerator: true });

test('DISCORD_LOCALE sets the language of everything that the guild sees, earlier messages too', async () => {
  await insertServer(db, { name: 'Mirage' });
  await harness.refreshServers();
  const channelId = '910000000000000099';
  await db
    .insert(liveStatusMessages)
    .values({ messageId: '920000000000000001', channelId, guildId: moderator.guildId, locale: 'en-US' });
  await harness.connect();
  const edits = () =>
    fake.requests.filter(({ method, path }) => method === 'PATCH' && path.includes('920000000000000001'));
  await waitFor(() => edits().length > 0);
  expect(edits()[0]?.body).toMatchObject({ embeds: [{ title: pl.server.allServers }] });

  const response = await fake.command('server', {}, moderator);
  expect(embedOf(response).title).toBe(pl.server.allServers);
  const ephemeral = await fake.command('ban-check', {}, moderator);
  expect(JSON.stringify(ephemeral.message)).toContain(en.refusals.notLinkedYourself);

  const feed = await createFeedStarter(harness)({ what: 'penalties' });
  await insertPenalties(db, [{ reason: 'aim' }]);
  await settleFeeds(harness);
  expect(feed.messages()[0]?.embeds[0]?.title).toStartWith(`🔴 ${pl.record.types.ban}`);
});
