import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { createFeedStarter, settleFeeds } from '../../support/bot/feeds.ts';
import { insertPenalties } from '../../support/database/builders.ts';

const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 50 } } });
const startFeed = createFeedStarter(harness);
await harness.connect();

test('a message is edited for a silent change, too', async () => {
  const { db, connection } = harness;
  const feed = await startFeed({ what: 'penalties' });
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  const [lifted, other] = await insertPenalties(db, [{ createdAt: daysAgo(3) }, {}]);
  await settleFeeds(harness);
  expect(feed.titles()).toEqual([`🔴 Ban #${lifted?.id} · active`, `🔴 Ban #${other?.id} · active`]);

  // Two days ago, as reported by a mirror that could not reach its source since then.
  await db
    .update(penalties)
    .set({ status: 'UNBANNED', liftedAt: daysAgo(2) })
    .where(eq(penalties.id, lifted?.id ?? 0));
  await settleFeeds(harness);
  expect(feed.titles()).toEqual([`🟢 Ban #${lifted?.id} · lifted`, `🔴 Ban #${other?.id} · active`]);

  await connection`truncate penalties`;
  await settleFeeds(harness);
  expect(feed.titles()).toEqual([`🗑️ Ban #${lifted?.id} · removed`, `🗑️ Ban #${other?.id} · removed`]);
});
