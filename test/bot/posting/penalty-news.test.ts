import { beforeEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { users } from '../../../src/db/schema/accounts.ts';
import { discordPenaltyNews } from '../../../src/db/schema/discord.ts';
import { penalties, penaltyEventState } from '../../../src/db/schema/penalties.ts';
import { settleAppeals } from '../../../src/queries/appeals/settling.ts';
import { setPenaltyNews } from '../../../src/queries/discord/penalty-news.ts';
import { recordExpiredPenalties } from '../../../src/queries/events.ts';
import { insertAppeal } from '../../support/bot/appeals.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { changePenalty, lasting } from '../../support/bot/feeds.ts';
import { aSteamId, erase, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { refuse } from '../../support/discord/faults.ts';
import { findButton } from '../../support/discord/messages.ts';
import { nextSnowflake } from '../../support/discord/snowflake.ts';
import { waitFor } from '../../support/wait.ts';

const APPEAL_URL = 'https://play.example.org/account#penalties';
const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 20 }, appealUrl: APPEAL_URL } });
const { fake, db } = harness;
const { personal: words, record, buttons, appeal: appealWords } = BOT_TEXTS.en;
await harness.connect();
beforeEach(() => fake.clearFaults());

const MINUTE_MS = 60_000;
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS);
let lastPlayer = 0;
/** A linked player, who is told of their penalties in this language; null: they are not. */
async function aPlayer(language: 'en' | 'pl' | null = 'en') {
  lastPlayer += 1;
  const steamId64 = aSteamId(lastPlayer);
  const discordId = nextSnowflake();
  const { id: userId } = await insertUser(db, lastPlayer, { discordId });
  if (language) await setPenaltyNews(db, { steamId64 }, language);
  return {
    steamId64,
    discordId,
    punish: async (values: Partial<typeof penalties.$inferInsert> = {}) => {
      const row = { playerSteamId: steamId64, createdAt: new Date(), ...values };
      const [penalty] = await insertPenalties(db, [row]);
      if (!penalty) throw new Error('the penalty was not inserted');
      return penalty;
    },
    messages: () => fake.directMessagesTo(discordId),
    told: () => fake.directMessagesTo(discordId).map(({ content }) => content),
    state: async () =>
      (await db.select().from(discordPenaltyNews).where(eq(discordPenaltyNews.userId, userId)))[0],
  };
}
/** A penalty of ten minutes ended at a time, which the service notices now. */
async function expire(penalty: { id: number }, endsAt: Date): Promise<void> {
  await db.update(penaltyEventState).set({ expiredUpTo: minutesAgo(120) });
  await changePenalty(db, penalty, lasting(10, new Date(endsAt.getTime() - 10 * MINUTE_MS)));
  await recordExpiredPenalties(db, new Date());
}
type Player = Awaited<ReturnType<typeof aPlayer>>;
const told = (player: Player, amount: number) => waitFor(() => player.told().length === amount);
const witness = await aPlayer();
/** Sends two messages to another person: any other message that was due is sent before the second one. */
async function settle(): Promise<void> {
  for (const _ of ['first', 'second']) {
    const before = witness.told().length;
    await witness.punish({ type: 'warn' });
    await told(witness, before + 1);
  }
}
const begun = (what: string, reason = 'Wallhack') => words.begun({ what, reason });
const ban = ({ id }: { id: number }) => ({ type: 'ban', id }) as const;
const isLifted = () => ({ status: 'UNBANNED', liftedAt: new Date() }) as const;

test('a player is told when a penalty begins, with a link to appeal, and when it is lifted', async () => {
  const player = await aPlayer();
  const penalty = await player.punish(lasting(1440, new Date()));
  await told(player, 1);
  expect(player.told()).toEqual([begun(record.inForce.ban.during(record.durationInWords(1440)))]);
  expect(findButton(player.messages()[0], buttons.appeal)?.url).toBe(APPEAL_URL);
  await changePenalty(db, penalty, isLifted());
  await told(player, 2);
  expect(player.told()[1]).toBe(words.lifted(ban(penalty)));
});

test('a player is told that a penalty has ended, in the language of the page with the box they ticked', async () => {
  const player = await aPlayer('pl');
  const penalty = await player.punish(lasting(10, new Date()));
  const { personal, record: polish } = BOT_TEXTS.pl;
  await told(player, 1);
  expect(player.told()).toEqual([
    personal.begun({ what: polish.inForce.ban.during(polish.durationInWords(10)), reason: 'Wallhack' }),
  ]);
  await expire(penalty, minutesAgo(1));
  await told(player, 2);
  expect(player.told()[1]).toBe(personal.ended(ban(penalty)));
});

test('the removal of a penalty in force is reported as a lift; the removal of an ended one is not reported', async () => {
  const player = await aPlayer();
  const [active, deleted, over] = [await player.punish(), await player.punish(), await player.punish()];
  await told(player, 3);
  await changePenalty(db, over, isLifted());
  await told(player, 4);
  await changePenalty(db, over, { liftedAt: minutesAgo(5) });
  const goneAt = new Date();
  await changePenalty(db, active, { ...isLifted(), goneAt });
  await changePenalty(db, over, { goneAt });
  await db.delete(penalties).where(eq(penalties.id, deleted.id));
  await told(player, 6);
  await settle();
  expect(player.told().slice(3)).toEqual([over, active, deleted].map((each) => words.lifted(ban(each))));
});

test('nothing is reported about events older than an hour, about changes, or to players without the box', async () => {
  const [player, silent] = [await aPlayer(), await aPlayer(null)];
  const old = await player.punish({ createdAt: minutesAgo(61) });
  await silent.punish();
  await changePenalty(db, old, { reason: 'Aimbot' });
  await changePenalty(db, old, { status: 'UNBANNED', liftedAt: minutesAgo(61) });
  await expire(await player.punish({ createdAt: minutesAgo(100) }), minutesAgo(61));
  await settle();
  expect([...player.told(), ...silent.told()]).toEqual([]);
});

test('a lift that a message about an appeal reports is not reported again', async () => {
  for (const [action, news] of [
    ['accepted', 'carriedOut'],
    ['asked', 'closed'],
  ] as const) {
    const appeal = await insertAppeal(db, { wantsMessages: true });
    await setPenaltyNews(db, appeal, 'en');
    await appeal.act(action);
    await waitFor(() => fake.directMessagesTo(appeal.discordId).length === 1);
    await db.update(penalties).set(isLifted()).where(eq(penalties.id, appeal.penaltyId));
    await settle();
    await settleAppeals(db, new Date());
    await waitFor(() => fake.directMessagesTo(appeal.discordId).length === 2);
    await settle();
    const penalty = { type: 'ban', id: appeal.penaltyId } as const;
    expect(fake.directMessagesTo(appeal.discordId).map(({ content }) => content)).toEqual([
      appealWords.news[action]({ ...penalty, ending: null }),
      appealWords.news[news]({ ...penalty, ending: 'lifted' }),
    ]);
  }
});

test('the lift of a warning after an accepted appeal is reported once, by the message about the appeal', async () => {
  const appeal = await insertAppeal(db, { wantsMessages: true });
  const isAppealed = eq(penalties.id, appeal.penaltyId);
  await db.update(penalties).set({ type: 'warn' }).where(isAppealed);
  await setPenaltyNews(db, appeal, 'en');
  await appeal.act('accepted');
  await waitFor(() => fake.directMessagesTo(appeal.discordId).length === 1);
  await db.update(penalties).set({ status: 'EXPIRED' }).where(isAppealed);
  await settle();
  await settleAppeals(db, new Date());
  await waitFor(() => fake.directMessagesTo(appeal.discordId).length === 2);
  await settle();
  const penalty = { type: 'warn', id: appeal.penaltyId } as const;
  expect(fake.directMessagesTo(appeal.discordId).map(({ content }) => content)).toEqual([
    appealWords.news.accepted({ ...penalty, ending: null }),
    appealWords.news.carriedOut({ ...penalty, ending: 'lifted' }),
  ]);
});

test('a lift is reported to a player with an appeal once appeals are switched off', async () => {
  await harness.restart({ takesAppeals: false });
  try {
    const appeal = await insertAppeal(db, { wantsMessages: true });
    await setPenaltyNews(db, appeal, 'en');
    await db.update(penalties).set(isLifted()).where(eq(penalties.id, appeal.penaltyId));
    await settle();
    expect(fake.directMessagesTo(appeal.discordId).map(({ content }) => content)).toEqual([
      words.lifted({ type: 'ban', id: appeal.penaltyId }),
    ]);
  } finally {
    await harness.restart({ takesAppeals: true });
  }
});

test('a closed inbox ends the messages, and ticking the box again resumes them from then on', async () => {
  const player = await aPlayer();
  // The bot opens no other inbox afterwards, so the refusal is for this player.
  await settle();
  fake.fail({ matches: /^POST \/users\/@me\/channels/, response: refuse(403, 50_007) });
  await player.punish();
  await waitFor(async () => (await player.state())?.endedAt);
  await player.punish();
  await settle();
  expect(player.told()).toEqual([]);
  await setPenaltyNews(db, player, 'en');
  await player.punish({ reason: 'Aimbot' });
  await told(player, 1);
  expect(player.told()).toEqual([begun(record.inForce.ban.permanently, 'Aimbot')]);
});

test('messages about penalties end when the Discord link or the player is deleted', async () => {
  const [unlinked, relinked, erased] = [await aPlayer(), await aPlayer(), await aPlayer()];
  const link = (player: Player, discordId: string | null) =>
    db.update(users).set({ discordId }).where(eq(users.steamId64, player.steamId64));
  await link(unlinked, null);
  await link(relinked, nextSnowflake());
  await erase(db, erased.steamId64);
  for (const player of [unlinked, relinked, erased]) expect(await player.state()).toBeUndefined();
});

test('a message about a penalty that Discord refuses is sent once after a restart', async () => {
  const player = await aPlayer();
  fake.fail({ matches: /^POST \/users\/@me\/channels/, response: refuse(500), times: 1000 });
  await player.punish();
  await waitFor(() => harness.bot.health().directMessages.behind > 0);
  await harness.bot.stop();
  fake.clearFaults();
  await harness.restart();
  await told(player, 1);
  await harness.restart();
  await settle();
  expect(player.told()).toHaveLength(1);
});
