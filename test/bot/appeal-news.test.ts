import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { appeals } from '../../src/db/schema/appeals.ts';
import { penalties } from '../../src/db/schema/penalties.ts';
import { actOnAppeal, openAppeal, settleAppeals } from '../../src/queries/appeals.ts';
import { PUBLIC_URL, startTestBot } from '../support/bot/bot.ts';
import { insertPenalties, insertUser } from '../support/database/builders.ts';
import { refuse } from '../support/discord/faults.ts';
import { nextSnowflake } from '../support/discord/snowflake.ts';
import { waitFor } from '../support/wait.ts';

const { fake, db, connect } = await startTestBot({ bot: { timings: { feedIntervalMs: 20 } } });
await connect();
const staff = await insertUser(db, 1, { isModerator: true });
let lastPlayer = 100;

async function open({ wantsMessages = true, locale = 'en' as 'en' | 'pl' } = {}) {
  lastPlayer += 1;
  const discordId = nextSnowflake();
  const player = await insertUser(db, lastPlayer, { discordId });
  const [ban] = await insertPenalties(db, [{ playerSteamId: player.steamId64 }]);
  const penaltyId = ban?.id ?? 0;
  const appeal = { penaltyId, text: 'x'.repeat(20), userId: player.id, now: new Date(), againDays: 30 };
  const id = await db.transaction((tx) => openAppeal(tx, { ...appeal, wantsMessages, locale }));
  return {
    id,
    link: `${PUBLIC_URL}/account/appeals/${id}`,
    told: () => fake.directMessagesTo(discordId).map(({ embeds }) => embeds[0]?.description),
    act: (action: 'asked' | 'denied') =>
      db.transaction((tx) => actOnAppeal(tx, id, { action, text: 'x', userId: staff.id, now: new Date() })),
    end: async () => {
      await db.update(penalties).set({ status: 'EXPIRED' }).where(eq(penalties.id, penaltyId));
      await settleAppeals(db, new Date());
    },
    row: async () => (await db.select().from(appeals).where(eq(appeals.id, id)))[0],
  };
}

test('a player who wants messages is told of questions and decisions, in the language of their appeal', async () => {
  const [english, polish] = [await open(), await open({ locale: 'pl' })];
  const { news } = BOT_TEXTS.en.appeal;
  await english.act('asked');
  await waitFor(() => english.told().length === 1);
  await english.act('denied');
  await waitFor(() => english.told().length === 2);
  expect(english.told()).toEqual([news.asked(english.link), news.denied(english.link)]);
  await polish.end();
  await waitFor(() => polish.told().length === 1);
  expect(polish.told()).toEqual([BOT_TEXTS.pl.appeal.news.closed(polish.link)]);
});

test('a player is told of each question, also of a second one within minutes', async () => {
  const appeal = await open();
  await appeal.act('asked');
  await waitFor(async () => (await appeal.row())?.untold === null);
  await appeal.act('asked');
  await waitFor(async () => (await appeal.row())?.untold === null);
  const asked = BOT_TEXTS.en.appeal.news.asked(appeal.link);
  expect(appeal.told()).toEqual([asked, asked]);
});

test('a player is told of a question that is asked while an earlier one is being sent', async () => {
  const appeal = await open();
  const opened = () => fake.requests.filter(({ path }) => path === '/users/@me/channels').length;
  const before = opened();
  fake.fail({ matches: /^POST \/channels\/\d+\/messages/, response: 'hang' });
  await appeal.act('asked');
  await waitFor(() => opened() > before);
  await appeal.act('asked');
  fake.clearFaults();
  const asked = BOT_TEXTS.en.appeal.news.asked(appeal.link);
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
