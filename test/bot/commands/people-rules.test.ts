import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { blockUser } from '../../../src/queries/users/users.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';

const { en } = BOT_TEXTS;

const now = new Date('2026-11-21T12:00:00Z');
const { fake, db, connect } = await startTestBot({ bot: { now: () => now } });
const moderator = anActor({ isModerator: true });
await connect();

/** A member with a penalty, one they gave and one they lifted, under names that nobody else has. */
async function aMember(number: number): Promise<{ id: string; name: string; actor: Actor }> {
  const actor = anActor();
  const [id, name] = [aSteamId(number), `Rzeznik${number}x`];
  await insertUser(db, number, { nickname: name, discordId: actor.user.id, discordUsername: name });
  await insertPenalties(db, [
    { playerSteamId: id, playerName: name, reason: `Wallhack ${number}`, createdAt: now },
    { playerSteamId: aSteamId(500), adminSteamId: id, adminName: name, createdAt: now },
    {
      playerSteamId: aSteamId(500),
      status: 'UNBANNED',
      liftedAt: now,
      liftedBySteamId: id,
      liftedByName: name,
      createdAt: now,
    },
  ]);
  return { id, name, actor };
}

const textOf = async (...command: Parameters<typeof fake.command>) =>
  JSON.stringify((await fake.command(...command)).message?.embeds);

/** What a moderator, and the member, see of the member by every option of both commands. */
async function see({ id, name, actor }: Awaited<ReturnType<typeof aMember>>): Promise<string[]> {
  const asked = ['lookup', 'ban-check'].flatMap((command) => [
    textOf(command, { steamid: id }, moderator),
    textOf(command, { player: name }, moderator),
    textOf(command, { user: { user: actor.user } }, moderator),
    textOf(command, { user: { user: actor.user } }, actor),
  ]);
  // The record of the player to whom they gave a penalty.
  return Promise.all([...asked, textOf('ban-check', { steamid: aSteamId(500) }, moderator)]);
}

const descriptionOf = (embeds: string): string => JSON.parse(embeds)[0].description;

const suggested = async (name: string) =>
  JSON.stringify((await fake.autocomplete('ban-check', 'player', name.slice(0, 7), moderator)).choices);

test('/lookup and /ban-check show nothing of an erased player, to moderators or to themselves', async () => {
  const member = await aMember(1);
  for (const text of await see(member)) expect(text).toContain(member.name);
  expect(await suggested(member.name)).toContain(member.id);

  const removeSounds = async () => {};
  await erasePerson(db, aSteamId(1), { withPenalties: true, actor: 'operator', removeSounds });

  // The response repeats what was asked for.
  const unknownName = BOT_TEXTS.en.refusals.playerNotFound('Rzeznik1x');
  const { formerAdmin } = en.record;
  const emptyRecord = `### ${en.record.clean}\n\n\`${member.id}\`\n${en.user.neverSignedIn}`;
  const notLinked = en.refusals.notLinkedUser(`<@${member.actor.user.id}>`);
  expect((await see(member)).map(descriptionOf)).toEqual([
    emptyRecord,
    unknownName,
    notLinked,
    notLinked,
    emptyRecord,
    unknownName,
    notLinked,
    expect.stringContaining(en.refusals.notLinkedYourself),
    expect.stringMatching(
      new RegExp(`^(?!.*Rzeznik).*${formerAdmin}.*${en.record.liftedBy(formerAdmin)}`, 's'),
    ),
  ]);
  expect(await suggested(member.name)).not.toContain(member.id);
});

test('a blocked member uses the bot as before, and nothing there reveals the block', async () => {
  const member = await aMember(2);
  const before = await see(member);
  await blockUser(db, aSteamId(2), { reason: 'Scraping', now, actor: 'operator' });
  expect(await see(member)).toEqual(before);
});
