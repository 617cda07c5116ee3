import { beforeEach, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordFeeds } from '../../../src/db/schema/discord.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { FORMER_ADMIN } from '../../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { createFeedStarter, settleFeeds } from '../../support/bot/feeds.ts';
import { aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';

const { en, pl } = BOT_TEXTS;

const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 50 } } });
const { fake, db } = harness;
const startFeed = createFeedStarter(harness);
const moderator = anActor({ isModerator: true });
await harness.connect();
beforeEach(async () => {
  await db.delete(discordFeeds);
  await db.delete(penalties);
});

const HOUR_MS = 3_600_000;
const createdAt = new Date(Math.floor(Date.now() / 1000) * 1000);
/** The mute that an import with `--online-time` stores: it ends after an hour on the servers, nobody knows when. */
const MUTE_BY_ONLINE_TIME = {
  type: 'mute',
  durationMinutes: 60,
  endsAt: null,
  reason: 'Spam',
  createdAt,
} as const;
/** What CS2-SimpleAdmin stores for a warning that was lifted an hour before its end. */
const LIFTED_WARNING = {
  type: 'warn',
  status: 'EXPIRED',
  durationMinutes: 120,
  endsAt: new Date(createdAt.getTime() + HOUR_MS),
  reason: 'Rude',
  createdAt: new Date(createdAt.getTime() - HOUR_MS),
} as const;

async function linesOf(actor = moderator): Promise<string[]> {
  const { message } = await fake.command('ban-check', { steamid: aSteamId(1) }, actor);
  return message?.embeds[0]?.description?.split('\n') ?? [];
}

test('a mute that counts the time online is not called permanent', async () => {
  await insertPenalties(db, [MUTE_BY_ONLINE_TIME]);
  const lines = await linesOf();
  expect(lines[0]).toBe(
    `### ⚠️ ${en.record.types.mute} · ${en.record.onlineTime(en.record.durationInWords(60))}: Spam`,
  );
  expect(lines[1]).toMatch(new RegExp(`^-# \\[#\\d+\\]\\(.*\\) · ${en.record.durationInWords(60)} · `));
  expect((await linesOf({ ...moderator, locale: 'pl' }))[0]).toBe(
    `### ⚠️ ${pl.record.types.mute} · ${pl.record.onlineTime(pl.record.durationInWords(60))}: Spam`,
  );
});

test('a permanent mute comes before one that counts the time online', async () => {
  await insertPenalties(db, [{ type: 'mute', reason: 'For ever', createdAt }, MUTE_BY_ONLINE_TIME]);
  expect((await linesOf())[0]).toBe(`### ⚠️ ${en.record.inForce.mute.permanently}: For ever`);
});

test('a feed does not say of such a mute that it never ends', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await insertPenalties(db, [MUTE_BY_ONLINE_TIME]);
  await settleFeeds(harness);
  const fields = feed.messages()[0]?.embeds[0]?.fields ?? [];
  expect(fields.map(({ name }) => name)).toEqual([
    en.feed.player,
    en.record.duration,
    en.record.issued,
    en.record.admin,
    en.record.server,
  ]);
  expect(fields[1]?.value).toBe(en.record.onlineTime(en.record.durationInWords(60)));
});

test('a penalty that is over does not expire in the future', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await insertPenalties(db, [LIFTED_WARNING]);
  expect((await linesOf())[1]).toBe(
    `⚪ ${en.record.types.warn}: Rude – ${en.record.statusOf('warn', 'EXPIRED')}`,
  );
  await settleFeeds(harness);
  expect(feed.messages()[0]?.embeds[0]?.fields?.map(({ name }) => name)).not.toContain(en.record.ended);
});

test('a ban leads, however many warnings have been active since', async () => {
  const warning = { type: 'warn', createdAt } as const;
  await insertPenalties(db, [
    { type: 'ban', reason: 'Wallhack', createdAt: new Date(createdAt.getTime() - HOUR_MS) },
    ...Array.from({ length: 60 }, () => warning),
  ]);
  expect((await linesOf())[0]).toBe(`### ⛔ ${en.record.inForce.ban.permanently}: Wallhack`);
});

test('an erased admin is named in the language of the reader', async () => {
  const admin = { adminName: FORMER_ADMIN, adminSteamId: UNKNOWN_STEAM_ID };
  const lifted = { status: 'UNBANNED', liftedAt: createdAt, liftedByName: FORMER_ADMIN } as const;
  await insertPenalties(db, [{ ...admin, ...lifted, createdAt }]);
  const namesTwice = ({ formerAdmin, liftedBy }: typeof en.record) =>
    new RegExp(`: Wallhack – .* ${liftedBy(formerAdmin)}\n.* · ${formerAdmin} · `);
  const english = (await linesOf()).join('\n');
  expect(english).toMatch(namesTwice(en.record));
  const polish = (await linesOf({ ...moderator, locale: 'pl' })).join('\n');
  expect(polish).toMatch(namesTwice(pl.record));
});

test('the console that lifted a penalty is named in the language of the reader', async () => {
  await insertPenalties(db, [
    { status: 'UNBANNED', liftedAt: createdAt, liftedByName: 'Console', createdAt },
  ]);
  expect((await linesOf()).join('\n')).toContain(` ${en.record.liftedBy(en.record.console)}\n`);
  expect((await linesOf({ ...moderator, locale: 'pl' })).join('\n')).toContain(
    ` ${pl.record.liftedBy(pl.record.console)}\n`,
  );
});
