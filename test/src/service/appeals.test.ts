import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { aSteamId, insertPenalty, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { simpleAdminSqliteSchema } from '../../support/import/simple-admin-schema.ts';
import { editSource } from '../../support/import/source-file.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { openWholeService } from '../../support/service/whole-service.ts';
import { waitFor } from '../../support/wait.ts';
import { textOf } from '../../support/web/page-text.ts';

const fake = await startFakeDiscord();
const folder = createTestFolder();
const source = `sqlite:${join(folder, 'simpleadmin.sqlite')}`;
const [PLAYER, FIRST, SECOND] = [1, 2, 3];
editSource(
  source,
  simpleAdminSqliteSchema({ migration: 11 }),
  `insert into sa_bans (player_name, player_steamid, admin_steamid, admin_name, reason, duration, created)
    values ('Rzeźnik', '${aSteamId(PLAYER)}', '0', 'Console', 'Aim', 0, '2026-11-21 11:30:00')`,
);
const { db, signInAs, cli, succeedWithJson } = await openWholeService({
  ROLES: 'api,bot,sync',
  APPEALS: '1',
  SIMPLEADMIN_URL: source,
  SIMPLEADMIN_INTERVAL_SECONDS: '1',
  DISCORD_TOKEN: fake.token,
  DISCORD_API_URL: fake.apiUrl,
});
const { appeals: t } = PAGE_TEXTS.en;
const { appeal: words } = BOT_TEXTS.en;
const member = anActor();

test('an appeal leads from a ban to its lift at the source, and erasure leaves nothing of it', async () => {
  await insertUser(db, PLAYER, { discordId: member.user.id, discordUsername: member.user.username });
  await insertUser(db, FIRST, { nickname: 'First', isModerator: true });
  await insertUser(db, SECOND, { nickname: 'Second', isModerator: true });
  const player = await signInAs(PLAYER);
  const [first, second] = [await signInAs(FIRST), await signInAs(SECOND)];

  const form = await waitFor(
    async () => /href="(\/account\/penalties\/\d+\/appeal)"/.exec((await player.get('/account')).text)?.[1],
  );
  const manager = anActor({ isManager: true });
  await fake.command('feed start', { what: 'appeals' }, manager);
  await player.get(form);
  const text = 'My brother played on my account: ask him.';
  const { location } = await player.post(form, { text, discord: 'on' });
  const feed = () => fake.postsIn(manager.channelId);
  await waitFor(() => feed().length === 1);

  const queue = `/account/moderation/appeals`;
  const page = `${queue}${/\/\d+$/.exec(location)?.[0]}`;
  expect((await first.get(queue)).text).toContain(`href="${page}"`);
  await first.post(page, { action: 'asked', text: 'Which brother?' });
  const told = () => fake.directMessagesTo(member.user.id).map(({ content }) => content);
  await waitFor(() => told().length === 1);
  await player.post(location, { text: 'Jan.' });
  expect(textOf((await second.get(page)).text)).toContain('Jan.');
  await second.post(page, { action: 'accepted', text: 'He admitted it.' });
  await waitFor(() => told().length === 2);
  const penalty = { type: 'ban', id: Number(/\d+/.exec(form)?.[0]), ending: null } as const;
  expect(told()).toEqual([words.news.asked(penalty), words.news.accepted(penalty)]);
  expect(textOf((await player.get(location)).text)).toContain(`${t.states.accepted}, ${t.notCarriedOut}`);

  editSource(source, "update sa_bans set status = 'UNBANNED'");
  await waitFor(async () => textOf((await player.get(location)).text).includes(`, ${t.carriedOut}`));
  await waitFor(() => feed()[0]?.embeds[0]?.title?.endsWith(words.carriedOut));
  // The player's answer was a reply to the message.
  expect(feed().filter(({ embeds }) => embeds.length > 0)).toHaveLength(1);

  const erased = await succeedWithJson(`users erase ${aSteamId(PLAYER)} --penalties --yes`);
  expect(erased).toMatchObject({ penalties: 1 });
  // Feeds look for deleted appeals with each event, and otherwise every 15 seconds.
  await insertPenalty(db);
  await waitFor(() => feed()[0]?.embeds[0]?.description === words.deleted);
  const exported = await cli(`users export ${aSteamId(PLAYER)}`);
  expect(exported.stdout).not.toMatch(/brother|admitted/);
  expect((await second.get(page)).status).toBe(404);
});
