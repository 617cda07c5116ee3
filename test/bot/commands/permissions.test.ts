import { beforeEach, describe, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordFeeds } from '../../../src/db/schema/discord.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { insertMany } from '../../support/bot/feeds.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { type Exchange, messageOf, textOf } from '../../support/discord/exchange.ts';
import { refuse } from '../../support/discord/faults.ts';
import { findButton, isEphemeral } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const { en } = BOT_TEXTS;

const harness = await startTestBot({ bot: { timings: { applicationCheckMs: 50 } } });
const { fake, db, lines, linesAbout, restart } = harness;
const HOME = '900000000000000001';
const SECRET = 'TheSecretReason';
const target = anActor({ userId: '700000000000000001' });
const member = anActor({ userId: '700000000000000009' });
const moderator = anActor({ isModerator: true, userId: '700000000000000007' });
await insertUser(db, 1, { nickname: 'Banned one', discordId: target.user.id });
await insertUser(db, 9, { nickname: 'Curious', discordId: member.user.id });
await insertMany(db, 12, { reason: SECRET });
await harness.connect();

/** Everything that a person could read in a response. */
const seen = (exchange: Exchange) => JSON.stringify([exchange.message, exchange.followUps]);

describe('a member without permissions', () => {
  test('a member without permissions is refused with the same words whether or not there is a record, a user or a link', async () => {
    const users = [target.user, anActor().user];
    const asked = [
      { steamid: aSteamId(1) },
      { steamid: aSteamId(2) },
      { steamid: aSteamId(3), show: true },
      ...users.map((user) => ({ user: { user } })),
    ];
    const exchanges = await Promise.all([
      ...asked.map((options) => fake.command('ban-check', options, member)),
      ...asked.map((options) => fake.command('lookup', options, member)),
      ...users.map((user) => fake.userMenu(en.commands.checkBans.name, user, member)),
    ]);
    const shown = exchanges.map(({ message }) => JSON.stringify([message?.embeds, message?.components]));
    expect(new Set(shown).size).toBe(1);
    expect(exchanges.every(({ message }) => isEphemeral(message))).toBe(true);
    expect(shown[0]).toContain(en.refusals.moderateMembersRequired(fake.mention('ban-check')));
  });

  test('learns nothing from the buttons and menus of a record that a moderator made public', async () => {
    const shown = await fake.command('ban-check', { steamid: aSteamId(1), show: true }, moderator);
    const before = JSON.stringify(shown.message?.embeds);
    for (const exchange of [
      await fake.click(shown.message, en.buttons.next, member),
      await fake.choose(shown.message, /^record\.type/, 'ban', member),
      // Another moderator is not its invoker either.
      await fake.click(shown.message, en.buttons.next, anActor({ isModerator: true })),
    ]) {
      expect(exchange.callback).toBe(4);
      expect(isEphemeral(exchange.message)).toBe(true);
      expect(textOf(exchange)).toContain(en.refusals.notYours);
      expect(seen(exchange)).not.toContain(SECRET);
    }
    expect(JSON.stringify(shown.message?.embeds)).toBe(before);
  });

  test('learns nothing from forged custom ids on their messages', async () => {
    const own = await fake.command('ban-check', {}, member);
    const victim = aSteamId(1);
    for (const id of [
      `record.open:${victim}`,
      `record.page:next:${victim}:2:-:-`,
      `record.page:next:${victim}`,
      `record.page:next: ${victim}:1`,
      'record.page:next:[U:1:39734272]:1:-:-',
      'record.page:next:0:1:-:-',
      `record.page:::::::`,
    ]) {
      const exchange = await fake.press(messageOf(own), id, member);
      expect(exchange.callback).toBe(4);
      expect(isEphemeral(exchange.message)).toBe(true);
      expect(seen(exchange)).not.toContain(SECRET);
      expect(seen(exchange)).not.toContain('Banned one');
    }
    for (const id of [`record.type:${victim}:-:-`, `record.status:${victim}:-:-`, 'record.type']) {
      const exchange = await fake.select(messageOf(own), id, ['ban'], member);
      expect(seen(exchange)).not.toContain(SECRET);
    }
  });

  test('learns nothing more from an old message once they are no longer a moderator', async () => {
    const old = await fake.command('ban-check', { steamid: aSteamId(1) }, moderator);
    const lookup = await fake.command('lookup', { steamid: aSteamId(1) }, moderator);
    const demoted = { ...moderator, permissions: member.permissions };
    const exchanges = [
      await fake.click(old.message, en.buttons.next, demoted),
      await fake.choose(old.message, /^record\.status/, 'ACTIVE', demoted),
      await fake.click(lookup.message, en.buttons.record, demoted),
    ];
    for (const exchange of exchanges) {
      expect(exchange.callback).toBe(4);
      expect(textOf(exchange)).toBe(en.refusals.moderateMembersRequired(fake.mention('ban-check')));
      expect(seen(exchange)).not.toContain(SECRET);
    }
  });

  test('a member without permissions may not pin the live status, not even by a forged custom id', async () => {
    const list = await fake.command('server', {}, member);
    expect(findButton(list.message, en.buttons.pin)).toBeUndefined();
    const exchange = await fake.press(messageOf(list), 'server.pin:all', member);
    expect(textOf(exchange)).toBe(en.refusals.pinRequiresModerateMembers);
    expect(fake.requests.some(({ path }) => path.startsWith('/channels/'))).toBe(false);
  });
});

test('an administrator is a moderator, too', async () => {
  const exchange = await fake.command('ban-check', { steamid: aSteamId(1) }, anActor({ permissions: '8' }));
  expect(seen(exchange)).toContain(SECRET);
});

/** Whether a moderator sees somebody else's record, in every way there is, and may pin the live status. */
async function listSights(actor = moderator): Promise<boolean[]> {
  const list = await fake.command('server', {}, actor);
  const exchanges = [
    await fake.command('ban-check', { steamid: aSteamId(1) }, actor),
    await fake.command('ban-check', { user: { user: target.user }, show: true }, actor),
    await fake.command('lookup', { steamid: aSteamId(1) }, actor),
    await fake.userMenu(en.commands.checkBans.name, target.user, actor),
  ];
  const sights = exchanges.map((exchange) => /TheSecretReason|Banned one/.test(seen(exchange)));
  return [...sights, findButton(list.message, en.buttons.pin) !== undefined];
}
const ALL = [true, true, true, true, true];
const NONE = ALL.map(() => false);

test('permissions count only in the guild of DISCORD_GUILD_ID', async () => {
  await restart({ guildId: HOME });
  const stranger = anActor({ isModerator: true, isManager: true, guildId: '900000000000000002' });
  const startFeed = async (actor: Actor) =>
    textOf(await fake.command('feed start', { what: 'penalties' }, actor));
  expect(await listSights(stranger)).toEqual(NONE);
  expect(await startFeed(stranger)).toContain(en.feed.manageGuildRequired);
  expect(await listSights({ ...stranger, guildId: HOME })).toEqual(ALL);
  expect(await startFeed({ ...stranger, guildId: HOME })).not.toContain(en.feed.manageGuildRequired);
  expect(await db.$count(discordFeeds)).toBe(1);
});

describe('a bot that anybody may add to a guild of their own', () => {
  const WHY = 'nobody: the application is public and DISCORD_GUILD_ID is not set';
  const objection = () => harness.bot.health().moderators;
  beforeEach(async () => {
    await harness.bot.stop();
    fake.state.botIsPublic = true;
    lines.length = 0;
  });

  test('a bot that anybody may add has no moderators without DISCORD_GUILD_ID, and says why in the log and its health', async () => {
    await restart();
    expect(await listSights()).toEqual(NONE);
    expect(await listSights(anActor({ permissions: '8' }))).toEqual(NONE);
    // Their own record is still shown.
    expect(seen(await fake.command('ban-check', {}, target))).toContain(SECRET);
    expect(objection()).toBe(WHY);
    // Those who have the permissions on Discord are told what the operator has to do; nobody else is.
    const owner = anActor({ permissions: '8' });
    for (const [command, options] of [
      ['lookup', { steamid: aSteamId(1) }],
      ['feed list', {}],
    ] as const) {
      const told = [owner, anActor()].map(async (actor) =>
        textOf(await fake.command(command, options, actor)),
      );
      const [toOwner, toMember] = await Promise.all(told);
      expect(toOwner).toBe(en.refusals.nobodyModerates);
      expect(toMember).not.toBe(en.refusals.nobodyModerates);
    }

    fake.state.botIsPublic = false;
    await waitFor(() => objection() === undefined);
    expect(await listSights()).toEqual(ALL);
    fake.state.botIsPublic = true;
    await waitFor(() => objection() === WHY);
    expect(await listSights()).toEqual(NONE);
    // Logged once each time this begins, however many checks find it.
    expect(linesAbout('turn off "Public Bot" or set DISCORD_GUILD_ID')).toHaveLength(2);
    expect(linesAbout('moderators are recognised again')).toHaveLength(1);
  });

  test('a bot that anybody may add has the moderators of the guild that DISCORD_GUILD_ID names', async () => {
    await restart({ guildId: HOME });
    expect(await listSights()).toEqual(ALL);
    expect(objection()).toBeUndefined();
    expect(linesAbout('Public Bot')).toEqual([]);
  });

  test('counts as public until Discord has said that it is not', async () => {
    fake.state.botIsPublic = false;
    const fault = { matches: /^GET \/applications\/@me$/, times: 1_000_000, response: refuse(403) };
    fake.fail(fault);
    await restart();
    expect(await listSights()).toEqual(NONE);
    expect(objection()).toBe('nobody: Discord has not said yet whether the application is public');
    expect(linesAbout('nobody is a moderator until Discord says')).toHaveLength(1);
    fault.times = 1;
    await waitFor(() => objection() === undefined);
    expect(await listSights()).toEqual(ALL);
    expect(linesAbout('moderators are recognised again')).toHaveLength(1);
    // The last known state is kept while Discord refuses the request.
    const countRefusals = () => fake.requests.filter(({ status }) => status === 403).length;
    const before = countRefusals();
    fake.fail({ ...fault, times: 3 });
    await waitFor(() => countRefusals() === before + 3);
    expect(await listSights()).toEqual(ALL);
  });
});
