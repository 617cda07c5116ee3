import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';

const { en } = BOT_TEXTS;

const harness = await startTestBot({ bot: { now: () => new Date('2026-11-21T12:00:00Z') } });
const { fake, db } = harness;
const hider = anActor({ userId: '175928847299117063' });
const moderator = anActor({ isModerator: true });
const plain = anActor();
const HIDER = aSteamId(1);
await insertUser(db, 1, {
  nickname: 'Rzeźnik',
  discordId: hider.user.id,
  discordUsername: 'secret_name',
  hidesDiscord: true,
});
await insertPenalties(db, [{ playerSteamId: HIDER, playerName: 'Rzeźnik' }]);
await harness.connect();

const textOf = (exchange: { message?: unknown }) => JSON.stringify(exchange.message);

test('a hidden Discord account is shown to moderators, where nobody else reads along', async () => {
  const alone = await fake.command('lookup', { steamid: HIDER }, moderator);
  expect(textOf(alone)).toContain('secret\\\\_name');
  const byUser = await fake.command('lookup', { user: { user: hider.user } }, moderator);
  expect(textOf(byUser)).toContain(HIDER);
  const record = await fake.command('ban-check', { user: { user: hider.user } }, moderator);
  expect(textOf(record)).toContain('Wallhack');
});

test('a hidden Discord account is in no message that everyone in the channel sees', async () => {
  const bySteam = await fake.command('lookup', { steamid: HIDER, show: true }, moderator);
  expect(textOf(bySteam)).toContain(HIDER);
  expect(textOf(bySteam)).toContain(en.user.notLinked);
  expect(textOf(bySteam)).not.toContain(hider.user.id);
  for (const name of ['lookup', 'ban-check']) {
    const byUser = await fake.command(name, { user: { user: hider.user }, show: true }, moderator);
    expect(textOf(byUser)).not.toContain(HIDER);
    for (const steamid of [hider.user.id, `<@${hider.user.id}>`, '@secret_name']) {
      expect(textOf(await fake.command(name, { steamid, show: true }, moderator))).not.toContain(HIDER);
      expect(textOf(await fake.command(name, { steamid }, moderator))).toContain(HIDER);
      const [theirs, nobodys] = await Promise.all(
        [steamid, '@nobody'].map((text) => fake.command(name, { steamid: text }, plain)),
      );
      expect(theirs?.message?.embeds).toEqual(nobodys?.message?.embeds ?? []);
    }
    for (const steamid of [`<@${hider.user.id}>`, '@Secret_Name']) {
      expect(textOf(await fake.command(name, { steamid }, hider))).toContain('Rzeźnik');
    }
  }
});

test('a hidden Discord account is refused to members, and its owner sees their own', async () => {
  for (const name of ['lookup', 'ban-check']) {
    const others = await fake.command(name, { user: { user: hider.user } }, plain);
    expect(textOf(others)).not.toContain(HIDER);
    const own = await fake.command(name, { user: { user: hider.user } }, hider);
    expect(textOf(own)).toContain('Rzeźnik');
  }
});
