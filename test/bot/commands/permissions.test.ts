import { describe, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { type LogLine, startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { type Exchange, messageOf, textOf } from '../../support/discord/exchange.ts';
import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { findButton, findComponent, isEphemeral } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const { en } = BOT_TEXTS;

const harness = await startTestBot();
const { fake, db } = harness;
const SECRET = 'TheSecretReason';
const target = anActor({ userId: '700000000000000001' });
const member = anActor({ userId: '700000000000000009' });
const moderator = anActor({ isModerator: true, userId: '700000000000000007' });
await insertUser(db, 1, { nickname: 'Banned one', discordId: target.user.id });
await insertUser(db, 9, { nickname: 'Curious', discordId: member.user.id });
await insertPenalties(
  db,
  Array.from({ length: 12 }, () => ({ reason: SECRET })),
);
await harness.connect();

/** Everything that a person could read in a response. */
const seen = (exchange: Exchange) => JSON.stringify([exchange.message, exchange.followUps]);

describe('a member without permissions', () => {
  test('a member without permissions is refused with the same words whether or not there is a record, a user or a link', async () => {
    const exchanges: Exchange[] = [];
    for (const options of [
      { steamid: aSteamId(1) },
      { steamid: aSteamId(2) },
      { steamid: aSteamId(3), show: true },
      { user: { user: target.user } },
      { user: { user: anActor().user } },
    ]) {
      exchanges.push(
        await fake.command('ban-check', options, member),
        await fake.command('lookup', options, member),
      );
    }
    for (const user of [target.user, anActor().user])
      exchanges.push(await fake.userMenu(en.commands.checkBans.name, user, member));
    const texts = new Set(
      exchanges.map(({ message }) => JSON.stringify([message?.embeds, message?.components])),
    );
    expect(texts.size).toBe(1);
    expect(exchanges.every(({ message }) => isEphemeral(message))).toBe(true);
    expect([...texts][0]).toContain(en.refusals.moderateMembersRequired(fake.mention('ban-check')));
  });

  test('learns nothing from the buttons and menus of a record that a moderator made public', async () => {
    const shown = await fake.command('ban-check', { steamid: aSteamId(1), show: true }, moderator);
    const next = findButton(shown.message, en.buttons.next)?.custom_id ?? '';
    const menu = findComponent(shown.message, /^record\.type/)?.custom_id ?? '';
    const before = JSON.stringify(shown.message?.embeds);
    for (const exchange of [
      await fake.press(messageOf(shown), next, member),
      await fake.select(messageOf(shown), menu, ['ban'], member),
      // Another moderator is not its invoker either.
      await fake.press(messageOf(shown), next, anActor({ isModerator: true })),
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
      const exchange = await fake.press(messageOf(own), id, member, { forged: true });
      expect(exchange.callback).toBe(4);
      expect(isEphemeral(exchange.message)).toBe(true);
      expect(seen(exchange)).not.toContain(SECRET);
      expect(seen(exchange)).not.toContain('Banned one');
    }
    for (const id of [`record.type:${victim}:-:-`, `record.status:${victim}:-:-`, 'record.type']) {
      const exchange = await fake.select(messageOf(own), id, ['ban'], member, { forged: true });
      expect(seen(exchange)).not.toContain(SECRET);
    }
  });

  test('learns nothing more from an old message once they are no longer a moderator', async () => {
    const old = await fake.command('ban-check', { steamid: aSteamId(1) }, moderator);
    const lookup = await fake.command('lookup', { steamid: aSteamId(1) }, moderator);
    const demoted = { ...moderator, permissions: member.permissions };
    const exchanges = [
      await fake.click(old.message, en.buttons.next, demoted),
      await fake.select(
        messageOf(old),
        findComponent(old.message, /^record\.status/)?.custom_id ?? '',
        ['ACTIVE'],
        demoted,
      ),
      await fake.click(lookup.message, en.buttons.record, demoted),
    ];
    for (const exchange of exchanges) {
      expect(exchange.callback).toBe(4);
      expect(textOf(exchange)).toBe(en.refusals.moderateMembersRequired(fake.mention('ban-check')));
      expect(seen(exchange)).not.toContain(SECRET);
    }
  });

  test('nobody is a moderator in a direct message, whatever their permissions elsewhere', async () => {
    const exchange = await fake.command(
      'ban-check',
      { steamid: aSteamId(1) },
      { ...moderator, guildId: undefined },
    );
    expect(seen(exchange)).not.toContain(SECRET);
  });

  test("a member without permissions cannot use a record's buttons to see another person's", async () => {
    const own = await fake.command('ban-check', {}, target);
    expect(seen(own)).toContain(SECRET);
    const borrowed = await fake.press(messageOf(own), `record.page:next:${aSteamId(9)}:1:-:-`, member, {
      forged: true,
    });
    // The message belongs to somebody else.
    expect(textOf(borrowed)).toContain(en.refusals.notYours);
  });

  test('a member without permissions may not pin the live status, not even by a forged custom id', async () => {
    const list = await fake.command('server', {}, member);
    expect(findButton(list.message, en.buttons.pin)).toBeUndefined();
    const exchange = await fake.press(messageOf(list), 'server.pin:all', member, { forged: true });
    expect(textOf(exchange)).toBe(en.refusals.pinRequiresModerateMembers);
    expect(fake.requests.some(({ path }) => path.startsWith('/channels/'))).toBe(false);
  });
});

test('an administrator is a moderator, too', async () => {
  const exchange = await fake.command('ban-check', { steamid: aSteamId(1) }, anActor({ permissions: '8' }));
  expect(seen(exchange)).toContain(SECRET);
});

test('permissions count only in the guild of DISCORD_GUILD_ID', async () => {
  const home = '900000000000000001';
  const other = await startTestBot({
    discord: { guildIds: [home, '900000000000000002'] },
    bot: { guildId: home },
  });
  await insertPenalties(other.db, [{ reason: SECRET }]);
  await other.connect();
  const stranger = anActor({ isModerator: true, guildId: '900000000000000002' });
  expect(seen(await other.fake.command('ban-check', { steamid: aSteamId(1) }, stranger))).not.toContain(
    SECRET,
  );
  expect(
    seen(await other.fake.command('ban-check', { steamid: aSteamId(1) }, { ...stranger, guildId: home })),
  ).toContain(SECRET);
});

describe('a bot that anybody may add to a guild of their own', () => {
  const WHY = 'nobody: the application is public and DISCORD_GUILD_ID is not set';
  const timings = { deferAfterMs: 1500, drainMs: 1000, readyWithinMs: 30_000, applicationCheckMs: 50 };

  /** Whether a moderator sees somebody else's record, in every way there is. */
  async function listSights({ fake: discord }: Awaited<ReturnType<typeof startTestBot>>, actor = moderator) {
    const list = await discord.command('server', {}, actor);
    const sights = [
      await discord.command('ban-check', { steamid: aSteamId(1) }, actor),
      await discord.command('ban-check', { user: { user: target.user }, show: true }, actor),
      await discord.command('lookup', { steamid: aSteamId(1) }, actor),
      await discord.userMenu(en.commands.checkBans.name, target.user, actor),
    ].map((exchange) => /TheSecretReason|Banned one/.test(seen(exchange)));
    return [...sights, findButton(list.message, en.buttons.pin) !== undefined];
  }
  const ALL = [true, true, true, true, true];
  const NONE = ALL.map(() => false);

  async function startOpenBot(options: NonNullable<Parameters<typeof startTestBot>[0]>) {
    const open = await startTestBot({ ...options, bot: { timings, ...options.bot } });
    await insertUser(open.db, 1, { nickname: 'Banned one', discordId: target.user.id });
    await insertPenalties(open.db, [{ reason: SECRET }]);
    await open.connect();
    return open;
  }
  const linesAbout = ({ lines }: { lines: LogLine[] }, text: string) =>
    lines.filter(({ msg }) => msg.includes(text)).length;

  test('a bot that anybody may add has no moderators without DISCORD_GUILD_ID, and says why in the log and its health', async () => {
    const open = await startOpenBot({ discord: { botIsPublic: true } });
    expect(await listSights(open)).toEqual(NONE);
    expect(await listSights(open, anActor({ permissions: '8' }))).toEqual(NONE);
    // Their own record is still shown.
    expect(seen(await open.fake.command('ban-check', {}, target))).toContain(SECRET);
    expect(open.bot.health().moderators).toBe(WHY);

    open.fake.state.botIsPublic = false;
    await waitFor(() => open.bot.health().moderators === undefined);
    expect(await listSights(open)).toEqual(ALL);
    open.fake.state.botIsPublic = true;
    await waitFor(() => open.bot.health().moderators === WHY);
    expect(await listSights(open)).toEqual(NONE);
    // Logged once each time this begins, however many checks find it.
    expect(linesAbout(open, 'turn off "Public Bot" or set DISCORD_GUILD_ID')).toBe(2);
    expect(linesAbout(open, 'moderators are recognised again')).toBe(1);
  });

  test('a bot that anybody may add has the moderators of the guild that DISCORD_GUILD_ID names', async () => {
    const home = await startOpenBot({
      discord: { botIsPublic: true },
      bot: { guildId: '900000000000000001' },
    });
    expect(await listSights(home)).toEqual(ALL);
    expect(home.bot.health().moderators).toBeUndefined();
    expect(linesAbout(home, 'Public Bot')).toBe(0);
  });

  test('counts as public until Discord has said that it is not', async () => {
    const fake = await startFakeDiscord();
    const fault = {
      matches: /^GET \/applications\/@me$/,
      times: 1_000_000,
      response: () => new Response('', { status: 403 }),
    };
    fake.fail(fault);
    const unsure = await startOpenBot({ fake });
    expect(await listSights(unsure)).toEqual(NONE);
    expect(unsure.bot.health().moderators).toBe(
      'nobody: Discord has not said yet whether the application is public',
    );
    expect(linesAbout(unsure, 'nobody is a moderator until Discord says')).toBe(1);
    fault.times = 1;
    await waitFor(() => unsure.bot.health().moderators === undefined);
    expect(await listSights(unsure)).toEqual(ALL);
    expect(linesAbout(unsure, 'moderators are recognised again')).toBe(1);
    // The last known state is kept while Discord refuses the request.
    const countRefusals = () => fake.requests.filter(({ status }) => status === 403).length;
    const before = countRefusals();
    fake.fail({ ...fault, times: 3 });
    await waitFor(() => countRefusals() === before + 3);
    expect(await listSights(unsure)).toEqual(ALL);
  });
});
