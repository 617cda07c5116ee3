import { describe, expect, test } from 'bun:test';
import { ChannelType, PermissionFlagsBits } from 'discord.js';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordFeeds } from '../../../src/db/schema/discord.ts';
import { listAuditEntries } from '../../../src/queries/audit-log.ts';
import { listGuildLiveMessages } from '../../../src/queries/discord/live-status-messages.ts';
import { PUBLIC_URL, startTestBot } from '../../support/bot/bot.ts';
import {
  aSteamId,
  erase,
  insertPenalties,
  insertServer,
  insertUser,
} from '../../support/database/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { embedOf, messageOf, textOf } from '../../support/discord/exchange.ts';
import { refuse, slowDown } from '../../support/discord/faults.ts';
import type { OptionValue } from '../../support/discord/interactions.ts';
import { findButton, findComponent, isEphemeral } from '../../support/discord/messages.ts';

const { en, pl } = BOT_TEXTS;
const { subjects, permissions: can } = en.feed;

const harness = await startTestBot();
const { fake, db } = harness;
const server = await insertServer(db, { slug: 'mirage', name: 'Mirage *24/7*' });
await harness.refreshServers();
await insertPenalties(db, [{}, {}, {}]);
await harness.connect();

const { EmbedLinks, ManageGuild, MentionEveryone, SendMessages, SendMessagesInThreads, ViewChannel } =
  PermissionFlagsBits;
/** Permissions as interactions carry them. */
const bits = (...permissions: bigint[]) => String(permissions.reduce((all, each) => all | each, 0n));
const MENTIONING_MANAGER = bits(ViewChannel, SendMessages, ManageGuild, MentionEveryone);
const MENTIONING_BOT = bits(ViewChannel, SendMessages, EmbedLinks, MentionEveryone);
const role = { id: '950000000000000001', name: 'Players', mentionable: true };
const otherRole = { ...role, id: '950000000000000002' };
const closedRole = { ...role, mentionable: false };
let lastChannel = 920_000_000_000_000_000n;
/** Somebody with Manage Server, in a channel that no other test uses. */
function aManager(values: Parameters<typeof anActor>[0] = {}): Actor {
  lastChannel += 1n;
  return anActor({ isManager: true, channelId: String(lastChannel), ...values });
}
const rowsIn = ({ channelId }: Actor) =>
  db.select().from(discordFeeds).where(eq(discordFeeds.channelId, channelId)).orderBy(discordFeeds.id);

/** The ephemeral reply to `/feed`. */
async function run(actor: Actor, command: string, options: Record<string, OptionValue> = {}) {
  const exchange = await fake.command(`feed ${command}`, options, actor);
  expect(isEphemeral(exchange.message)).toBe(true);
  return `${embedOf(exchange).title ?? ''}\n${textOf(exchange)}`;
}

const mentionOf = ({ channelId }: Pick<Actor, 'channelId'>) => `<#${channelId}>`;
const started = (subject: 'penalties' | 'servers', manager: Actor, { feed: words } = en) =>
  words.started({ subject, channel: mentionOf(manager), stop: fake.mention('feed stop') });
/** What feeds of penalties or servers take. */
const takesOnly = (subject: 'penalties' | 'servers', ...names: string[]) =>
  en.feed.takesOnly({ subject, options: names.map((name) => `\`${name}\``) });
const THREAD = { channelType: ChannelType.PublicThread };
const bold = (...permissions: string[]) => permissions.map((name) => `**${name}**`).join(', ');

describe('/feed start', () => {
  test('stores the settings, the language of the guild, and the newest event as the start', async () => {
    const manager = aManager({ guildLocale: 'pl' });
    const options = { what: 'penalties', types: 'Mute,  BAN,ban', server: ' mirage ' };
    expect(await run(manager, 'start', options)).toContain(started('penalties', manager));
    expect(await rowsIn(manager)).toEqual([
      {
        id: expect.any(Number),
        subject: 'penalties',
        channelId: manager.channelId,
        guildId: manager.guildId ?? '',
        startedBy: manager.user.id,
        locale: 'pl',
        penaltyTypes: ['ban', 'mute'],
        serverId: server.id,
        playersAtLeast: null,
        roleId: null,
        afterMinutes: 3,
        pausedAt: null,
        epoch: expect.stringMatching(/^[0-9a-f]{8}$/),
        cursor: 3,
        postingUpTo: null,
        remindedAt: null,
        createdAt: expect.any(Date),
      },
    ]);
  });

  test('takes servers with a number of players and a role', async () => {
    const manager = aManager({ locale: 'pl' });
    expect(await run(manager, 'start', { what: 'servers', players: 10, role: { role } })).toContain(
      started('servers', manager, pl),
    );
    expect(await rowsIn(manager)).toMatchObject([
      { subject: 'servers', locale: 'en-US', playersAtLeast: 10, roleId: role.id, serverId: null },
    ]);
  });

  test('changes the feed of the same subject in the channel, which continues where it was', async () => {
    const manager = aManager();
    await run(manager, 'start', { what: 'penalties' });
    const [before] = await rowsIn(manager);
    const said = await run(manager, 'start', { what: 'penalties', types: 'gag' });
    expect(said).toEndWith(
      `${en.feed.changed({ subject: 'penalties', channel: mentionOf(manager) })}\n**${subjects.penalties}**: ${en.record.types.gag} · ${en.record.allServers}`,
    );
    expect(await rowsIn(manager)).toEqual([expect.objectContaining({ ...before, penaltyTypes: ['gag'] })]);
  });

  test('keeps the settings that are not named, and repeats all of them', async () => {
    const manager = aManager();
    await run(manager, 'start', { what: 'servers', players: 10, server: 'mirage' });
    const said = await run(manager, 'start', { what: 'servers', role: { role } });
    expect(said).toEndWith(
      `\n**${subjects.servers}**: Mirage \\*24/7\\* · ${en.feed.downAfter(3)} · ${en.feed.playersAtLeast(10)} · <@&${role.id}>`,
    );
    await run(manager, 'start', { what: 'servers', players: 12 });
    expect(await rowsIn(manager)).toMatchObject([
      { serverId: server.id, playersAtLeast: 12, roleId: role.id },
    ]);
    // Two managers at once: neither setting is lost.
    await Promise.all([
      run(manager, 'start', { what: 'servers', players: 14 }),
      run(manager, 'start', { what: 'servers', role: { role: otherRole } }),
    ]);
    expect(await rowsIn(manager)).toMatchObject([
      { serverId: server.id, playersAtLeast: 14, roleId: otherRole.id },
    ]);
    await run(manager, 'start', { what: 'penalties', types: 'ban' });
    expect(await run(manager, 'start', { what: 'penalties', server: 'mirage' })).toEndWith(
      `\n**${subjects.penalties}**: ${en.record.types.ban} · Mirage \\*24/7\\*`,
    );
  });

  test('unsets role, players, server and types', async () => {
    const manager = aManager();
    const everyone = { role: { ...role, id: manager.guildId ?? '', name: '@everyone', mentionable: false } };
    const start = { what: 'servers', players: 10, server: 'mirage', role: { role } };
    await run(manager, 'start', start);
    await run(manager, 'start', { what: 'servers', role: everyone, server: '*' });
    expect(await rowsIn(manager)).toMatchObject([{ serverId: null, playersAtLeast: 10, roleId: null }]);
    await run(manager, 'start', start);
    await run(manager, 'start', { what: 'servers', players: 0 });
    expect(await rowsIn(manager)).toMatchObject([
      { serverId: server.id, playersAtLeast: null, roleId: null },
    ]);
    await run(manager, 'start', { what: 'penalties', types: 'ban' });
    await run(manager, 'start', { what: 'penalties', types: '*' });
    expect((await rowsIn(manager))[1]?.penaltyTypes).toBeNull();
  });

  test('options accept the labels of suggestions like their values, in any language', async () => {
    const manager = aManager();
    const { feed, record } = pl;
    await run(manager, 'start', { what: 'penalties', types: 'ban', server: 'mirage' });
    await run(manager, 'start', { what: 'penalties', types: feed.allTypes, server: record.allServers });
    expect(await rowsIn(manager)).toMatchObject([{ penaltyTypes: null, serverId: null }]);
    const types = `${record.types.ban}, ${record.types.gag}`;
    await run(manager, 'start', { what: 'penalties', types, server: `Mirage *24/7* · ${en.server.offline}` });
    expect(await rowsIn(manager)).toMatchObject([{ penaltyTypes: ['ban', 'gag'], serverId: server.id }]);
  });

  const penaltyFeed = { what: 'penalties' };
  const serverFeed = { what: 'servers' };
  const callFeed = { ...serverFeed, players: 3, role: { role: closedRole } };
  const { manageGuildRequired, unknownType, cannotPost, mayNotMention, cannotMention } = en.feed;
  const mention = `<@&${role.id}>`;
  test.each<[string, Actor, Record<string, OptionValue>, string]>([
    ['a member without Manage Server', anActor(), penaltyFeed, manageGuildRequired],
    ['a moderator without Manage Server', anActor({ isModerator: true }), serverFeed, manageGuildRequired],
    [
      'an unknown type',
      aManager(),
      { ...penaltyFeed, types: 'ban, kick' },
      unknownType({ text: 'kick', allowed: 'ban, mute, gag, silence, warning' }),
    ],
    ['an unknown server', aManager(), { ...serverFeed, server: 'nuke' }, en.refusals.serverNotFound('nuke')],
    [
      'types of servers',
      aManager(),
      { ...serverFeed, types: 'ban' },
      takesOnly('servers', 'server', 'players', 'after', 'role'),
    ],
    [
      'players of penalties',
      aManager(),
      { ...penaltyFeed, players: 3 },
      takesOnly('penalties', 'types', 'server'),
    ],
    ['a role without players', aManager(), { ...serverFeed, role: { role } }, en.feed.roleNeedsPlayers],
    [
      'a role that the manager may not mention',
      aManager({ appPermissions: MENTIONING_BOT }),
      callFeed,
      mayNotMention(mention),
    ],
    [
      'a role that the bot may not mention',
      aManager({ permissions: MENTIONING_MANAGER }),
      callFeed,
      cannotMention(mention),
    ],
    [
      'a channel that the bot does not see',
      aManager({ appPermissions: '0' }),
      penaltyFeed,
      cannotPost(bold(can.viewChannel, can.sendMessages, can.embedLinks)),
    ],
    [
      'a channel that takes no embeds, in Polish',
      aManager({ appPermissions: bits(ViewChannel, SendMessages), locale: 'pl' }),
      penaltyFeed,
      pl.feed.cannotPost(bold(pl.feed.permissions.embedLinks)),
    ],
    [
      'a thread that the bot may not write in',
      aManager({ ...THREAD, appPermissions: bits(ViewChannel, SendMessages, EmbedLinks) }),
      penaltyFeed,
      cannotPost(bold(can.sendMessagesInThreads)),
    ],
  ])('refuses %s, and stores nothing', async (_, actor, options, text) => {
    expect(await run(actor, 'start', options)).toContain(text);
    const rows = await rowsIn(actor);
    expect(rows.filter(({ startedBy }) => startedBy === actor.user.id)).toEqual([]);
  });

  test('/feed start needs only the permission for threads when used in a thread', async () => {
    const appPermissions = bits(ViewChannel, SendMessagesInThreads, EmbedLinks);
    const manager = aManager({ ...THREAD, appPermissions });
    expect(await run(manager, 'start', { what: 'penalties' })).toContain(started('penalties', manager));
  });

  test('lets the bot mention any role where Discord does', async () => {
    const manager = aManager({ permissions: MENTIONING_MANAGER, appPermissions: MENTIONING_BOT });
    await run(manager, 'start', callFeed);
    expect(await rowsIn(manager)).toHaveLength(1);
  });

  test('completes a list of types one by one, and servers', async () => {
    const manager = aManager({ locale: 'pl' });
    const suggest = async (option: string, typed: string) =>
      (await fake.autocomplete('feed start', option, typed, manager)).choices ?? [];
    const valuesFor = async (option: string, typed: string) =>
      (await suggest(option, typed)).map(({ value }) => value);
    const { allServers, types } = pl.record;
    expect(await suggest('types', 'ban, wycisz')).toEqual([
      { name: `${types.ban}, ${types.mute}`, value: 'ban, mute' },
    ]);
    const [repeated] = await suggest('types', 'wyciszenie głosu, '.repeat(6));
    expect(repeated).toEqual({ name: `${types.mute}, ${types.ban}`, value: 'mute, ban' });
    expect(await valuesFor('types', 'silence, gag, mute, warn, ')).toEqual(['silence, gag, mute, warn, ban']);
    expect(await valuesFor('types', '')).toEqual(['*', 'ban', 'mute', 'gag', 'silence', 'warn']);
    expect(await valuesFor('server', 'mir')).toEqual(['mirage']);
    expect((await suggest('server', ''))[0]).toEqual({ name: allServers, value: '*' });
  });
});

describe('/feed test', () => {
  const { feed: words, record } = pl;

  test('posts an example in the language of the guild, and mentions nobody', async () => {
    const manager = aManager({ guildLocale: 'pl' });
    for (const what of ['penalties', 'servers']) {
      expect(await run(manager, 'test', { what })).toContain(en.feed.tested(mentionOf(manager)));
    }
    const posted = fake.postsIn(manager.channelId);
    expect(posted).toMatchObject([
      {
        content: expect.stringContaining(`${words.example} ⛔ ${words.examplePlayer} · `),
        embeds: [{ description: expect.stringContaining(words.exampleReason) }],
        components: [],
      },
      { content: expect.stringContaining(`${words.example} 🔴 Mirage`) },
    ]);
    expect(posted[0]?.embeds[0]?.fields).toContainEqual(
      expect.objectContaining({ name: record.admin, value: record.console }),
    );
    expect(posted.map(({ allowedMentions }) => allowedMentions)).toEqual([{ parse: [] }, { parse: [] }]);
    expect(await rowsIn(manager)).toEqual([]);
  });

  test('posts no example of an appeal where nobody can appeal', async () => {
    await harness.restart({ takesAppeals: false });
    const manager = aManager();
    expect(await run(manager, 'test', { what: 'appeals' })).toContain(en.feed.appealsAreOff);
    expect(fake.postsIn(manager.channelId)).toEqual([]);
    await harness.restart();
  });

  test('/feed test what:appeals links to the appeals that wait', async () => {
    const manager = aManager();
    await run(manager, 'test', { what: 'appeals' });
    const [example] = fake.postsIn(manager.channelId);
    expect(findButton(example, en.appeal.open)?.url).toBe(`${PUBLIC_URL}/account/moderation/appeals`);
  });

  test('/feed test is refused to members without Manage Server, and says where the bot may not post', async () => {
    const member = anActor({ channelId: aManager().channelId });
    expect(await run(member, 'test', { what: 'penalties' })).toContain(en.feed.manageGuildRequired);
    const lacking = aManager({ appPermissions: bits(ViewChannel, SendMessages) });
    expect(await run(lacking, 'test', { what: 'servers' })).toContain(bold(can.embedLinks));
    const refused = aManager();
    fake.fail({ matches: new RegExp(`^POST /channels/${refused.channelId}`), response: refuse(403, 50_013) });
    expect(await run(refused, 'test', { what: 'servers' })).toContain(en.refusals.cannotPost);
    for (const { channelId } of [member, lacking, refused]) {
      expect(fake.postsIn(channelId)).toEqual([]);
    }
  });
});

test("/feed list names the guild's feeds and who started them, and what the bot lacks here", async () => {
  const guild = { guildId: '900000000000000009' };
  const manager = aManager(guild);
  expect(await run(manager, 'list')).toContain(en.feed.none(fake.mention('feed start')));
  await run(manager, 'start', { what: 'penalties', types: 'ban', server: 'mirage' });
  await run(manager, 'start', { what: 'servers', players: 12, role: { role } });
  const said = await run({ ...manager, appPermissions: bits(ViewChannel) }, 'list');
  const [here, startedBy] = [`<#${manager.channelId}>`, en.feed.startedBy(`<@${manager.user.id}>`)];
  expect(said).toBe(
    [
      `📣 ${en.feed.listTitle}`,
      `1. ${here} **${subjects.penalties}**: ${en.record.types.ban} · Mirage \\*24/7\\* · ${startedBy}`,
      `2. ${here} **${subjects.servers}**: ${en.record.allServers} · ${en.feed.downAfter(3)} · ${en.feed.playersAtLeast(12)} · <@&${role.id}> · ${startedBy}`,
      '',
      `⚠️ ${en.feed.lacksHere(bold(can.sendMessages, can.embedLinks))}`,
    ].join('\n'),
  );
  expect(await run(aManager({ ...guild, appPermissions: '0' }), 'list')).not.toContain('⚠️');
  expect(await run({ ...manager, locale: 'pl' }, 'list')).toContain(pl.feed.playersAtLeast(12));
  expect(await run(anActor(guild), 'list')).toContain(en.feed.manageGuildRequired);
});

test('/feed list names live status messages, and its menu removes one', async () => {
  const guild = { guildId: '900000000000000007' };
  const manager = aManager({ ...guild, locale: 'pl' });
  const moderator = anActor({ ...guild, isModerator: true, channelId: manager.channelId });
  for (const options of [{}, { name: 'mirage' }]) {
    const { message } = await fake.command('server', options, moderator);
    await fake.click(message, en.buttons.pin, moderator);
  }
  const [all, mirage] = fake.postsIn(manager.channelId);
  const message = messageOf(await fake.command('feed list', {}, manager));
  const { feed: words, record } = BOT_TEXTS.pl;
  const lineOf = (number: number, server: string, id: string | undefined) =>
    `${number}. <#${manager.channelId}> **${words.liveMessage}**: ${server} · [${words.message}](https://discord.com/channels/${guild.guildId}/${manager.channelId}/${id})`;
  expect(message.embeds[0]?.description?.split('\n')).toEqual([
    lineOf(1, record.allServers, all?.id),
    lineOf(2, 'Mirage \\*24/7\\*', mirage?.id),
  ]);
  const menu = findComponent(message, 'feed.end');
  expect(menu?.options).toMatchObject([
    { label: `1. ${words.liveMessage}: ${record.allServers}`, value: `live-${all?.id}` },
    { label: `2. ${words.liveMessage}: Mirage *24/7*`, value: `live-${mirage?.id}` },
  ]);
  const remove = (actor: Actor, id = '') => fake.select(message, 'feed.end', [`live-${id}`], actor);
  // Somebody who was in the guild's team, and the manager of another guild.
  await remove(moderator, all?.id);
  await remove(aManager(), all?.id);
  await remove(manager, 'forged');
  expect(fake.messages.has(all?.id ?? '')).toBe(true);
  await remove(manager, all?.id);
  expect(message.embeds[0]?.description).toBe(lineOf(1, 'Mirage \\*24/7\\*', mirage?.id));
  expect(fake.messages.has(all?.id ?? '')).toBe(false);
  expect(await listGuildLiveMessages(db, guild.guildId)).toMatchObject([{ messageId: mirage?.id }]);
  expect((await listAuditEntries(db))[0]).toMatchObject({
    action: 'live-message.dropped',
    actor: 'discord-member',
  });
});

test('the menu of /feed list ends a feed whose channel is gone, for managers of its guild only', async () => {
  const manager = aManager({ guildId: '900000000000000006' });
  await run(manager, 'start', { what: 'penalties' });
  await run(manager, 'start', { what: 'servers' });
  const [penaltyFeed, serverFeed] = await rowsIn(manager);
  const message = messageOf(await fake.command('feed list', {}, manager));
  expect(findComponent(message, 'feed.end')?.options).toMatchObject([
    { label: `1. ${subjects.penalties}`, value: `feed-${penaltyFeed?.id}` },
    { label: `2. ${subjects.servers}`, value: `feed-${serverFeed?.id}` },
  ]);
  fake.goneChannels.add(manager.channelId);
  const end = (actor: Actor) => fake.select(message, 'feed.end', [`feed-${penaltyFeed?.id}`], actor);
  await end(aManager());
  await end(anActor({ guildId: manager.guildId }));
  expect(await rowsIn(manager)).toHaveLength(2);
  await end(manager);
  expect(await rowsIn(manager)).toMatchObject([{ subject: 'servers' }]);
  expect((await entriesOf(manager)).at(-1)).toMatchObject({ action: 'feed.stopped' });
});

describe('the option `channel` of /feed', () => {
  test('starts, tests and stops a feed in another channel, whose first line the bot posts', async () => {
    const manager = aManager({ guildLocale: 'pl' });
    const there = aManager();
    const channel = { channel: { id: there.channelId } };
    expect(await run(manager, 'start', { what: 'penalties', channel })).toContain(
      started('penalties', there),
    );
    expect(await rowsIn(there)).toMatchObject([{ subject: 'penalties', startedBy: manager.user.id }]);
    const posted = () => fake.postsIn(there.channelId);
    expect(posted()).toMatchObject([{ content: pl.feed.begins('penalties') }]);
    // A change of settings posts nothing.
    await run(manager, 'start', { what: 'penalties', types: 'ban', channel });
    expect(await run(manager, 'test', { what: 'penalties', channel })).toContain(
      en.feed.tested(mentionOf(there)),
    );
    expect(posted()).toHaveLength(2);
    await run(manager, 'stop', { what: 'penalties', channel });
    expect(await rowsIn(there)).toEqual([]);
    expect(fake.postsIn(manager.channelId)).toEqual([]);
  });

  test.each([
    ['another channel', {}, true],
    ['a thread', THREAD, false],
  ])('stores nothing for %s where the bot may not write', async (_, place, isElsewhere) => {
    const manager = aManager({
      ...place,
      appPermissions: bits(ViewChannel, SendMessagesInThreads, EmbedLinks, SendMessages),
    });
    const there = isElsewhere ? aManager() : manager;
    const channel = isElsewhere && { channel: { channel: { id: there.channelId } } };
    fake.fail({ matches: new RegExp(`^POST /channels/${there.channelId}`), response: refuse(403, 50_001) });
    expect(await run(manager, 'start', { what: 'penalties', ...channel })).toContain(en.refusals.cannotPost);
    expect(await rowsIn(there)).toEqual([]);
  });

  test('mentions a role only for who may mention it there', async () => {
    const manager = aManager({ permissions: MENTIONING_MANAGER, appPermissions: MENTIONING_BOT });
    const start = (permissions: string) => {
      const { channelId: id } = aManager();
      const options = { what: 'servers', players: 3, role: { role: closedRole } };
      return run(manager, 'start', { ...options, channel: { channel: { id, permissions } } });
    };
    expect(await start(bits(ViewChannel, SendMessages))).toContain(en.feed.mayNotMention(`<@&${role.id}>`));
    expect(await start(MENTIONING_MANAGER)).not.toContain(en.feed.mayNotMention(`<@&${role.id}>`));
  });
});

test('/feed start says what it resumes, and what else is paused', async () => {
  const guild = { guildId: '900000000000000005' };
  const [manager, other] = [aManager(guild), aManager(guild)];
  for (const each of [manager, other]) await run(each, 'start', { what: 'penalties' });
  await db.update(discordFeeds).set({ pausedAt: new Date() }).where(eq(discordFeeds.guildId, guild.guildId));
  const said = await run(manager, 'start', { what: 'penalties' });
  const place = { subject: 'penalties', channel: mentionOf(manager) } as const;
  expect(said).toMatch(new RegExp(`${en.feed.resumed({ ...place, since: '<t:\\d+:R>' })}`));
  expect(said).toEndWith(en.feed.othersPaused(1));
});

test('/feed test shows the role that a feed mentions, and mentions nobody', async () => {
  const manager = aManager();
  await run(manager, 'start', { what: 'servers', players: 3, role: { role } });
  await run(manager, 'start', { what: 'appeals', role: { role } });
  for (const what of ['servers', 'appeals']) await run(manager, 'test', { what });
  const posted = fake.postsIn(manager.channelId);
  expect(posted.map(({ content }) => content.includes(`<@&${role.id}>`))).toEqual([true, true]);
  expect(posted.map((message) => message.mention_roles)).toEqual([[], []]);
});

test('a command says so when Discord limits the channel for longer than it may wait', async () => {
  await harness.restart({ timings: { postWithinMs: 50 } });
  const manager = aManager();
  fake.fail({ matches: new RegExp(`^POST /channels/${manager.channelId}`), response: slowDown(1) });
  expect(await run(manager, 'test', { what: 'penalties' })).toContain(en.refusals.channelLimited);
  await harness.restart();
});

test('/feed list leaves out who started a feed once they are erased', async () => {
  const manager = aManager({ guildId: '900000000000000008' });
  await run(manager, 'start', { what: 'penalties' });
  await insertUser(db, 62, { discordId: manager.user.id });
  await erase(db, aSteamId(62));
  const [, line] = (await run(manager, 'list')).split('\n');
  expect(line).toBe(
    `1. <#${manager.channelId}> **${subjects.penalties}**: ${en.feed.allTypes} · ${en.record.allServers}`,
  );
});

test('/feed stop stops only the feed of this channel', async () => {
  const [here, there] = [aManager(), aManager()];
  for (const manager of [here, there]) {
    await run(manager, 'start', { what: 'penalties' });
    await run(manager, 'start', { what: 'servers' });
  }
  expect(await run(anActor({ channelId: here.channelId }), 'stop', { what: 'servers' })).toContain(
    en.feed.manageGuildRequired,
  );
  expect(await run(here, 'stop', { what: 'penalties' })).toContain(
    en.feed.stopped({ subject: 'penalties', channel: mentionOf(here) }),
  );
  expect(await rowsIn(here)).toMatchObject([{ subject: 'servers' }]);
  expect(await rowsIn(there)).toHaveLength(2);
  expect(await run(here, 'stop', { what: 'penalties' })).toContain(
    en.feed.noSuchFeed({ subject: 'penalties', channel: mentionOf(here) }),
  );
});

const entriesOf = async ({ channelId }: Actor) =>
  (await listAuditEntries(db))
    .filter(({ subject }) => subject === `#${channelId}`)
    .map(({ action, details, actor }) => ({ action, details, actor }))
    .reverse();

test('the audit log names the Discord account that starts, changes and stops a feed', async () => {
  const manager = aManager();
  await run(manager, 'start', { what: 'penalties' });
  await run(manager, 'start', { what: 'penalties', types: 'gag' });
  await run(manager, 'stop', { what: 'penalties' });
  await run(manager, 'stop', { what: 'penalties' });
  const actor = 'discord-member';
  const details = { feed: 'penalties', discordId: manager.user.id };
  expect(await entriesOf(manager)).toEqual([
    { action: 'feed.started', details, actor },
    { action: 'feed.changed', details, actor },
    { action: 'feed.stopped', details, actor },
  ]);
});

test('the audit log names the user whom that account is linked to', async () => {
  const manager = aManager();
  const { steamId64, nickname } = await insertUser(db, 61, { discordId: manager.user.id });
  await run(manager, 'start', { what: 'servers' });
  expect(await entriesOf(manager)).toEqual([
    { action: 'feed.started', details: { feed: 'servers' }, actor: { steamId64, nickname } },
  ]);
});
