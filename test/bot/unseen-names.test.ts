import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { startTestBot } from '../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../support/database/builders.ts';
import { anActor } from '../support/discord/actor.ts';
import type { Exchange } from '../support/discord/exchange.ts';
import { INVISIBLE_NAMES } from '../support/invisible-names.ts';

const { en } = BOT_TEXTS;

const { fake, db, poll, refreshServers, connect } = await startTestBot();
const moderator = anActor({ isModerator: true });
const embedsOf = ({ message }: Exchange) => message?.embeds ?? [];

test('a server whose name nobody can see is shown by its slug, wherever the bot names it', async () => {
  const slugs = INVISIBLE_NAMES.map((_, index) => `unseen-${index}`);
  for (const [index, name] of INVISIBLE_NAMES.entries()) {
    const { id } = await insertServer(db, { name, slug: `unseen-${index}` });
    if (index % 2 === 0)
      await poll(id, {
        map: 'de_mirage',
        players: [
          { name: 'Ala', score: 2 },
          { name, score: 1 },
        ],
      });
    await insertPenalties(db, [
      { playerSteamId: aSteamId(100 + index), serverId: id, playerName: name, adminName: name, reason: name },
    ]);
    await insertUser(db, 100 + index, { nickname: name });
  }
  await refreshServers();
  await connect();

  const list = await fake.command('server', {}, moderator);
  expect(list.refusals).toEqual([]);
  const menu = list.message?.components.flatMap(({ components = [] }) => components)[0];
  expect(menu?.options?.map(({ label }) => label).sort()).toEqual(slugs.toSorted());
  for (const slug of slugs) expect(embedsOf(list)[0]?.description).toContain(`**${slug}**`);
  const { choices } = await fake.autocomplete('server', 'name', 'unseen', moderator);
  expect(choices?.map(({ name }) => name.split(' · ')[0] ?? '').sort()).toEqual(slugs.toSorted());

  for (const [index, slug] of slugs.entries()) {
    const card = await fake.command('server', { name: slug }, moderator);
    expect([slug, embedsOf(card)[0]?.title, card.refusals]).toEqual([slug, slug, []]);
    if (index % 2 === 0 && card.message) {
      const players = await fake.click(card.message, en.buttons.players, moderator);
      expect(players.refusals).toEqual([]);
    }
    const record = await fake.command('ban-check', { steamid: aSteamId(100 + index) }, moderator);
    const [summary] = embedsOf(record);
    expect([record.refusals, summary?.author?.name]).toEqual([[], aSteamId(100 + index)]);
    expect(summary?.description).toMatch(/\n-# \[#\d+\]\(.*\) · /);
    expect(summary?.description).toContain(` · ${BOT_TEXTS.en.record.unnamedAdmin} · ${slug} · `);
  }
});
