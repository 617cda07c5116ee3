import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import fc from 'fast-check';
import type { Bot } from '../../../../bot/bot.ts';
import { BOT_TEXTS } from '../../../../bot/locales/localization.ts';
import { discordFeeds } from '../../../../src/db/schema/discord.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { startTestBot } from '../../../support/bot/bot.ts';
import {
  createFeedStarter,
  insertMany,
  type StartedFeed,
  settleFeeds,
  titleOfBan,
} from '../../../support/bot/feeds.ts';
import { refuse, slowDown } from '../../../support/discord/faults.ts';
import { tryHistories } from '../../../support/model.ts';

const { en } = BOT_TEXTS;

/** A history takes a quarter of a second. */
const RUNS = Number(process.env.MODEL_RUNS ?? 0) >= 1000 ? 300 : 30;
const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 30, drainMs: 200 } } });
const { fake, db } = harness;
const startFeed = createFeedStarter(harness);

const FAULTS = { lost: 'lost', unavailable: refuse(503), limited: slowDown(0.01) } as const;

type Step =
  | { kind: 'create'; amount: number }
  | { kind: 'lift' | 'change' | 'delete'; which: number }
  | { kind: 'fail'; how: keyof typeof FAULTS; method: 'POST' | 'PATCH'; times: number }
  | { kind: 'restart' | 'twin' | 'settle' };

const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('create' as const), amount: fc.constantFrom(1, 2, 5, 25) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constantFrom('lift' as const, 'change', 'delete'), which: fc.nat(60) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('fail' as const),
        how: fc.constantFrom('lost' as const, 'unavailable', 'limited'),
        method: fc.constantFrom('POST' as const, 'PATCH'),
        times: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('restart' as const, 'twin', 'settle') }) },
  ),
  { minLength: 3, maxLength: 14 },
);

/** What each penalty's message should say in the end, by the penalty's id. */
type Expected = Map<number, { title: string; reason?: string }>;

async function play(history: readonly Step[]): Promise<void> {
  let bot = await harness.startNext();
  let twin: Bot | undefined;
  const feed = await startFeed({ what: 'penalties' });
  const expected: Expected = new Map();
  for (const step of history) {
    if (step.kind === 'create') {
      const rows = await insertMany(db, step.amount, { reason: 'as created' });
      for (const { id } of rows)
        expected.set(id, { title: titleOfBan(id, 'ACTIVE'), reason: `**${en.record.reason}:** as created` });
    } else if (step.kind === 'lift' || step.kind === 'change' || step.kind === 'delete') {
      await changeOne(expected, step);
    } else if (step.kind === 'fail') {
      feed.fail(step.method, FAULTS[step.how], step.times);
    } else if (step.kind === 'settle') {
      fake.clearFaults();
      await settleFeeds({ db, bot });
    } else if (step.kind === 'twin') {
      // As while another process takes over the lead: both post for some time.
      await twin?.stop();
      twin = await harness.startNext();
    } else {
      await bot.stop();
      bot = await harness.startNext();
    }
  }
  fake.clearFaults();
  await settleFeeds({ db, bot });
  await bot.stop();
  await twin?.stop();
  check(feed, expected);
  await db.delete(discordFeeds);
}

async function changeOne(
  expected: Expected,
  { kind, which }: { kind: 'lift' | 'change' | 'delete'; which: number },
): Promise<void> {
  const alive = [...expected].filter(([, { title }]) => title.startsWith('🔴'));
  const [id, was] = alive[which % Math.max(1, alive.length)] ?? [];
  if (id === undefined || was === undefined) return;
  const isIt = eq(penalties.id, id);
  if (kind === 'delete') {
    await db.delete(penalties).where(isIt);
    expected.set(id, { title: titleOfBan(id, 'REMOVED') });
  } else if (kind === 'lift') {
    await db.update(penalties).set({ status: 'UNBANNED' }).where(isIt);
    expected.set(id, { ...was, title: titleOfBan(id, 'UNBANNED') });
  } else {
    const reason = `changed ${which} ${Math.random()}`;
    await db.update(penalties).set({ reason }).where(isIt);
    expected.set(id, { ...was, reason: `**${en.record.reason}:** ${reason}` });
  }
}

/** Each penalty was posted once, in its own message or in a summary, and its own message is up to date. */
function check(feed: StartedFeed, expected: Expected): void {
  const embeds = feed.messages().flatMap((message) => message.embeds);
  const summaries = feed.titles().flatMap((title) => /^🔴 (\d+) new penalt/.exec(title)?.[1] ?? []);
  const own = embeds.filter(({ title }) => title?.includes(`${en.record.types.ban} #`));
  const ids = own.map(({ title }) => Number(/#(\d+)/.exec(title ?? '')?.[1]));
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length + summaries.reduce((sum, amount) => sum + Number(amount), 0)).toBe(expected.size);
  expect(own.map(({ title, description }) => ({ title, reason: description }))).toEqual(
    ids.map((id) => ({ title: expected.get(id)?.title, reason: expected.get(id)?.reason })),
  );
}

test('each penalty is told once and kept up to date, whatever fails and however often the bot restarts', async () => {
  await tryHistories('feeds of penalties', steps, play, { runs: RUNS });
});
