import { eq } from 'drizzle-orm';
import type { BotDeps } from '../../../bot/bot.ts';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordFeedPosts, discordFeeds } from '../../../src/db/schema/discord.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import type { PenaltyStatus } from '../../../src/domain/penalty.ts';
import { readEventLog } from '../../../src/queries/events.ts';
import { insertPenalties } from '../database/builders.ts';
import { anActor } from '../discord/actor.ts';
import type { Fault } from '../discord/faults.ts';
import type { OptionValue } from '../discord/interactions.ts';
import { waitFor } from '../wait.ts';
import { startTestBot, type TestBot } from './bot.ts';

/** A feed as a test sees it: who started it, and what its channel was told. */
export type StartedFeed = Awaited<ReturnType<ReturnType<typeof createFeedStarter>>>;

let lastChannel = 930_000_000_000_000_000n;

/** A connected bot that looks at its feeds often. */
export async function startFeedBot({ timings, ...bot }: Partial<BotDeps> = {}) {
  const harness = await startTestBot({ bot: { ...bot, timings: { feedIntervalMs: 20, ...timings } } });
  await harness.connect();
  return Object.assign(harness, {
    startFeed: createFeedStarter(harness),
    /** Waits until every feed has told all there is to tell of penalties, however often Discord fails. */
    settle: () => settleFeeds(harness),
  });
}

/** Starts feeds by `/feed start`, each in a new channel. */
export function createFeedStarter({ fake, db }: Pick<TestBot, 'fake' | 'db'>) {
  return async (
    options: Record<string, OptionValue>,
    { guildLocale = 'en-US', ...actor }: { guildLocale?: string; guildId?: string } = {},
  ) => {
    lastChannel += 1n;
    const channelId = String(lastChannel);
    const manager = anActor({ isManager: true, channelId, guildLocale, ...actor });
    const before = await db.$count(discordFeeds);
    await fake.command('feed start', options, manager);
    await waitFor(async () => (await db.$count(discordFeeds)) > before);
    /** What the channel was told, the oldest first, without the response to the command. */
    const messages = () => fake.postsIn(channelId);
    return {
      channelId,
      manager,
      messages,
      /** The titles of embeds; for messages without one their text, without mentions. */
      titles: () =>
        messages().map(({ embeds, content }) => embeds[0]?.title ?? content.replace(/^<@&\d+> /, '')),
      /** What the person who started the feed was told directly. */
      told: () => fake.directMessagesTo(manager.user.id).map(({ content }) => content),
      /** Makes requests for messages of the channel fail. */
      fail: (method: 'POST' | 'PATCH', response: Fault['response'], times = 1) =>
        fake.fail({ matches: new RegExp(`^${method} /channels/${channelId}`), response, times }),
      /** Attempts to change messages of the channel. */
      requests: (method: 'POST' | 'PATCH') =>
        fake.requests.filter(
          (request) =>
            request.method === method && request.path.startsWith(`/channels/${channelId}/messages`),
        ),
    };
  };
}

/** The title of the message about a ban. */
export function titleOfBan(id: number | undefined, status: PenaltyStatus | 'REMOVED'): string {
  const sign = { ACTIVE: '🔴', EXPIRED: '⚪', UNBANNED: '🟢', REMOVED: '🗑️' }[status];
  const { entry, statusOf } = BOT_TEXTS.en.record;
  return `${sign} ${entry({ type: 'ban', id: id ?? 0 })} · ${statusOf('ban', status)}`;
}

/** The times of a penalty that ends so long after its beginning. */
export function lasting(durationMinutes: number, createdAt: Date) {
  return { durationMinutes, createdAt, endsAt: new Date(createdAt.getTime() + durationMinutes * 60_000) };
}

/** Inserts penalties of one kind. */
export function insertMany(
  db: TestBot['db'],
  amount: number,
  values: Parameters<typeof insertPenalties>[1][number] = {},
) {
  return insertPenalties(db, Array<typeof values>(amount).fill(values));
}

/** Changes a penalty, as a mirror or a plugin does. */
export async function changePenalty(
  db: TestBot['db'],
  penalty: { id: number } | undefined,
  values: Partial<typeof penalties.$inferInsert>,
): Promise<void> {
  if (!penalty) throw new Error('there is no such penalty');
  await db.update(penalties).set(values).where(eq(penalties.id, penalty.id));
}

/** Waits until every feed has told all there is to tell of penalties, however often Discord fails. */
export async function settleFeeds({
  db,
  bot,
}: Pick<TestBot, 'db'> & { bot: Pick<TestBot['bot'], 'wakeFeeds'> }): Promise<void> {
  await waitFor(async () => {
    await bot.wakeFeeds();
    const feeds = await db.select().from(discordFeeds);
    const posts = await db.select().from(discordFeedPosts);
    const { newestId } = await readEventLog(db);
    return (
      feeds
        .filter(({ subject }) => subject === 'penalties')
        .every(({ cursor, postingUpTo }) => cursor === newestId && postingUpTo === null) &&
      posts.every(({ editEventId }) => editEventId === null)
    );
  });
}
