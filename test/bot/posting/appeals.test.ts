import { expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { appeals } from '../../../src/db/schema/appeals.ts';
import { discordFeedPosts, discordFeeds } from '../../../src/db/schema/discord.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { settleAppeals } from '../../../src/queries/appeals/settling.ts';
import { readEventLog } from '../../../src/queries/events.ts';
import { APPEAL_TEXT, insertAppeal } from '../../support/bot/appeals.ts';
import { PUBLIC_URL } from '../../support/bot/bot.ts';
import { startFeedBot } from '../../support/bot/feeds.ts';
import { erase } from '../../support/database/builders.ts';
import { textOf } from '../../support/discord/exchange.ts';
import { refuse } from '../../support/discord/faults.ts';
import { findButton } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startFeedBot();
const { fake, db, startFeed } = harness;
const { appeal: words, feed: feedWords, record } = BOT_TEXTS.en;

/** An appeal whose player is told of news by direct message, unless told otherwise. */
async function open(options?: Parameters<typeof insertAppeal>[1]) {
  const appeal = await insertAppeal(db, { wantsMessages: true, ...options });
  return {
    ...appeal,
    link: `${PUBLIC_URL}/account/appeals/${appeal.id}`,
    penalty: { type: 'ban', id: appeal.penaltyId, ending: null } as const,
    messages: () => fake.directMessagesTo(appeal.discordId),
    told: () => fake.directMessagesTo(appeal.discordId).map(({ content }) => content),
    row: async () => (await db.select().from(appeals).where(eq(appeals.id, appeal.id)))[0],
  };
}

async function endPenalty(penaltyId: number, status: 'EXPIRED' | 'UNBANNED'): Promise<void> {
  await db.update(penalties).set({ status }).where(eq(penalties.id, penaltyId));
  await settleAppeals(db, new Date());
}

test('a player who wants messages is told of questions and decisions, in the language of their appeal', async () => {
  const [english, polish] = [await open(), await open({ language: 'pl' })];
  const { news } = words;
  await english.act('asked');
  await waitFor(() => english.told().length === 1);
  await english.act('denied');
  await waitFor(() => english.told().length === 2);
  expect(english.told()).toEqual([news.asked(english.penalty), news.denied(english.penalty)]);
  expect(findButton(english.messages()[0], words.open)?.url).toBe(english.link);
  await endPenalty(polish.penaltyId, 'EXPIRED');
  await waitFor(() => polish.told().length === 1);
  const ended = { ...polish.penalty, ending: 'expired' } as const;
  expect(polish.told()).toEqual([BOT_TEXTS.pl.appeal.news.closed(ended)]);
});

test('a player is told that their penalty was lifted, after a decision and without one', async () => {
  const [accepted, undecided] = [await open(), await open()];
  const { news } = words;
  await accepted.act('accepted');
  await waitFor(() => accepted.told().length === 1);
  for (const { penaltyId } of [accepted, undecided]) await endPenalty(penaltyId, 'UNBANNED');
  await waitFor(() => accepted.told().length === 2 && undecided.told().length === 1);
  const lifted = 'lifted' as const;
  expect(accepted.told()).toEqual([
    news.accepted(accepted.penalty),
    news.carriedOut({ ...accepted.penalty, ending: lifted }),
  ]);
  expect(undecided.told()).toEqual([news.closed({ ...undecided.penalty, ending: lifted })]);
});

test('a player is told of each question, also of a second one within minutes', async () => {
  const appeal = await open();
  for (const _ of ['first', 'second']) {
    await appeal.act('asked');
    await waitFor(async () => (await appeal.row())?.unsentNews === null);
  }
  const asked = words.news.asked(appeal.penalty);
  expect(appeal.told()).toEqual([asked, asked]);
});

test('a player is told of a question that is asked while an earlier one is being sent', async () => {
  const appeal = await open();
  fake.fail({ matches: /^POST \/channels\/\d+\/messages/, response: 'hang' });
  await appeal.act('asked');
  await waitFor(fake.isHanging);
  await appeal.act('asked');
  fake.clearFaults();
  const asked = words.news.asked(appeal.penalty);
  await waitFor(() => appeal.told().length === 2);
  expect(appeal.told()).toEqual([asked, asked]);
});

test('a player who did not tick the box gets no message about an appeal', async () => {
  const [silent, told] = [await open({ wantsMessages: false }), await open()];
  await silent.act('denied');
  await told.act('denied');
  await waitFor(() => told.told().length === 1);
  expect(silent.told()).toEqual([]);
});

test('a player whose inbox is closed gets no further message about an appeal', async () => {
  const closed = await open();
  fake.fail({ matches: /^POST \/users\/@me\/channels/, response: refuse(403, 50_007), times: 1 });
  await closed.act('asked');
  await waitFor(async () => (await closed.row())?.wantsMessages === false);
  await closed.act('denied');
  const other = await open();
  await other.act('asked');
  await waitFor(() => other.told().length === 1);
  expect(closed.told()).toEqual([]);
});

const titleOf = (penaltyId: number, state: string) =>
  words.title({ entry: record.entry({ type: 'ban', id: penaltyId }), state });

test('a feed of appeals posts each once, and edits it at each change, without any text', async () => {
  const before = await insertAppeal(db);
  const feed = await startFeed({ what: 'appeals' });
  const appeal = await insertAppeal(db);
  await waitFor(() => feed.messages().length === 1);
  const [message] = feed.messages();
  expect(feed.titles()).toEqual([titleOf(appeal.penaltyId, words.states.undecided)]);
  expect(message?.embeds[0]?.description).toBe(words.waitsFor.staff);
  expect(JSON.stringify(message)).toContain(`${PUBLIC_URL}/account/moderation/appeals/${appeal.id}`);
  await appeal.act('asked');
  await waitFor(() => feed.messages()[0]?.embeds[0]?.description === words.waitsFor.player);
  await appeal.act('accepted');
  await waitFor(() => feed.titles()[0] === titleOf(appeal.penaltyId, words.states.accepted));
  await endPenalty(appeal.penaltyId, 'UNBANNED');
  await waitFor(() => feed.titles()[0] === titleOf(appeal.penaltyId, words.carriedOut));
  // Appeals from before the feed are not posted when they change.
  await before.act('denied');
  const last = await insertAppeal(db);
  await waitFor(() => feed.messages().length === 2);
  expect(feed.titles().at(-1)).toBe(titleOf(last.penaltyId, words.states.undecided));
  expect(JSON.stringify(feed.messages())).not.toContain(APPEAL_TEXT);
});

test('a message about an appeal loses the player when they are erased', async () => {
  const feed = await startFeed({ what: 'appeals' });
  const { id, steamId64, playerName } = await insertAppeal(db);
  await waitFor(() => feed.messages().length === 1);
  await erase(db, steamId64);
  await waitFor(() => feed.messages()[0]?.embeds[0]?.description === words.deleted);
  expect(JSON.stringify(feed.messages())).not.toContain(steamId64);
  expect(JSON.stringify(feed.messages())).not.toContain(playerName.slice(2));
  await waitFor(async () => (await db.$count(discordFeedPosts, eq(discordFeedPosts.subjectId, id))) === 0);
});

test('a feed of appeals posts what happened during an outage once', async () => {
  const feed = await startFeed({ what: 'appeals' });
  feed.fail('POST', 'lost');
  await insertAppeal(db);
  await waitFor(() => feed.messages().length === 1);
  await harness.bot.stop();
  const second = await insertAppeal(db);
  await harness.restart();
  await waitFor(() => feed.titles().at(-1) === titleOf(second.penaltyId, words.states.undecided));
  expect(feed.messages()).toHaveLength(2);
  fake.clearFaults();
});

test('/feed start what:appeals refuses other options than `role`', async () => {
  const { manager } = await startFeed({ what: 'appeals' });
  const refused = await fake.command('feed start', { what: 'appeals', players: 3 }, manager);
  expect(textOf(refused)).toContain(feedWords.takesOnly({ subject: 'appeals', options: ['`role`'] }));
});

/** Waits until every feed has posted what there is to post of all events. */
const allEventsPassed = () =>
  waitFor(async () => {
    const { newestId } = await readEventLog(db);
    return (await db.select().from(discordFeeds)).every(({ cursor }) => cursor === newestId);
  });

const role = { role: { id: '950000000000000009', name: 'Staff', mentionable: true } };
const mention = `<@&${role.role.id}>`;

test('a feed of appeals mentions its role for a new appeal, and in one reply for the answers of five minutes', async () => {
  const feed = await startFeed({ what: 'appeals', role });
  const appeal = await insertAppeal(db);
  await waitFor(() => feed.messages().length === 1);
  const [message] = feed.messages();
  expect(message).toMatchObject({ mention_roles: [role.role.id], content: expect.stringContaining(mention) });
  // An answer to a question, and one more.
  for (const step of ['asked', 'answered', 'answered'] as const) {
    await (step === 'asked' ? appeal.act(step) : appeal.answer());
  }
  await allEventsPassed();
  expect(feed.messages()).toHaveLength(2);
  const reply = {
    content: `${mention} 💬 ${words.answered}`,
    message_reference: { message_id: message?.id },
  };
  expect(feed.messages()[1]).toMatchObject({ ...reply, mention_roles: [role.role.id] });
  const earlier = sql`${discordFeedPosts.repliedAt} - interval '5 minutes'`;
  await db.update(discordFeedPosts).set({ repliedAt: earlier });
  await appeal.act('asked');
  await appeal.answer();
  await allEventsPassed();
  expect(feed.messages()[2]).toMatchObject(reply);
  // A decision by staff posts no reply.
  await appeal.act('denied');
  await allEventsPassed();
  expect(feed.messages()).toHaveLength(3);
});

test('a feed of appeals reports long waits once in 24 hours, across restarts', async () => {
  await db.delete(appeals);
  const feed = await startFeed({ what: 'appeals', role });
  const reminders = () => feed.messages().filter(({ content }) => content.startsWith('⏳'));
  const [fresh, lift] = [await insertAppeal(db), await insertAppeal(db)];
  await lift.act('accepted');
  await waitFor(() => feed.titles()[1] === titleOf(lift.penaltyId, words.states.accepted));
  expect(reminders()).toEqual([]);
  const aDayAgo = sql`${appeals.waitingSince} - interval '24 hours'`;
  await db.update(appeals).set({ waitingSince: aDayAgo }).where(eq(appeals.id, lift.id));
  await waitFor(() => reminders().length === 1);
  expect(reminders()[0]).toMatchObject({
    content: `⏳ ${words.waitForLong({ staff: 0, lift: 1 })}`,
    allowedMentions: { parse: [] },
    components: [{ components: [{ url: `${PUBLIC_URL}/account/moderation/appeals` }] }],
  });
  await db.update(appeals).set({ waitingSince: aDayAgo }).where(eq(appeals.id, fresh.id));
  await harness.restart();
  await harness.bot.wakeFeeds();
  expect(reminders()).toHaveLength(1);
  const { remindedAt } = discordFeeds;
  await db.update(discordFeeds).set({ remindedAt: sql`${remindedAt} - interval '24 hours'` });
  await waitFor(() => reminders().length === 2);
  expect(reminders()[1]?.content).toBe(`⏳ ${words.waitForLong({ staff: 1, lift: 1 })}`);
});
