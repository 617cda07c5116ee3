import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { Unavailable } from '../../../src/domain/errors.ts';
import type { SteamBans } from '../../../src/queries/steam-bans.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { insertSampleRecords, RECORDS_NOW } from '../../support/bot/records.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';

const { en, pl } = BOT_TEXTS;

type Told = Partial<SteamBans> | undefined;
let told: () => Promise<Told> = async () => undefined;
const { fake, db, connect } = await startTestBot({
  bot: {
    now: () => RECORDS_NOW,
    lookUpSteamBans: async (steamId64) => {
      const bans = await told();
      const clean = { vacBans: 0, gameBans: 0, daysSinceLastBan: 0, isCommunityBanned: false };
      return bans && { steamId64, ...clean, checkedAt: RECORDS_NOW, ...bans };
    },
  },
});
const moderator = anActor({ isModerator: true });
await insertSampleRecords(db, { discordId: '700000000000000001' });
await connect();

async function linesOf(locale: string): Promise<{ record: string | undefined; lookup: string | undefined }> {
  const actor = { ...moderator, locale };
  const record = await fake.command('ban-check', { steamid: aSteamId(2) }, actor);
  const lookup = await fake.command('lookup', { steamid: aSteamId(2) }, actor);
  return {
    record: record.message?.embeds[0]?.description?.split('\n').at(-1),
    lookup: lookup.message?.embeds[0]?.fields?.find(
      ({ name }) => name === en.steamBans.title || name === pl.steamBans.title,
    )?.value,
  };
}

test("/ban-check and /lookup tell Steam's own bans in one line, in both languages", async () => {
  for (const [bans, english, polish] of [
    [{}, en.steamBans.none, pl.steamBans.none],
    [
      { vacBans: 1, daysSinceLastBan: 34 },
      '⚠️ 1 VAC ban (last one 34 days ago)',
      '⚠️ 1 ban VAC (ostatni 34 dni temu)',
    ],
    [
      { vacBans: 2, gameBans: 5, daysSinceLastBan: 0, isCommunityBanned: true },
      `⚠️ 2 VAC bans · 5 game bans · ${en.steamBans.community} (last one today)`,
      `⚠️ 2 bany VAC · 5 banów w grach · ${pl.steamBans.community} (ostatni dzisiaj)`,
    ],
    [{ isCommunityBanned: true }, `⚠️ ${en.steamBans.community}`, `⚠️ ${pl.steamBans.community}`],
    [undefined, en.steamBans.unknown, pl.steamBans.unknown],
  ] as const) {
    told = async () => bans;
    expect(await linesOf('en-GB')).toEqual({ record: en.steamBans.line(english), lookup: english });
    expect(await linesOf('pl')).toEqual({ record: pl.steamBans.line(polish), lookup: polish });
  }
});

test('a response waits a moment for Steam, and never fails without it', async () => {
  const fail = () => Promise.reject(new Unavailable('the database is unreachable'));
  const hang = () => new Promise<Told>(() => {});
  for (const trouble of [fail, hang]) {
    told = trouble;
    expect(await linesOf('en-GB')).toEqual({
      record: en.steamBans.line(en.steamBans.unknown),
      lookup: en.steamBans.unknown,
    });
  }
});
