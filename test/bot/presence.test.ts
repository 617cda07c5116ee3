import { expect, test } from 'bun:test';
import { startTestBot } from '../support/bot/bot.ts';
import { insertServer } from '../support/database/builders.ts';
import { waitFor } from '../support/wait.ts';

const GUILD = '900000000000000001';

test.each([
  ['pl', GUILD, undefined, '13 graczy na 2 serwerach', '1 gracz na 2 serwerach'],
  ['en-US', GUILD, undefined, '13 players on 2 servers', '1 player on 2 servers'],
  ['pl', undefined, undefined, '13 players on 2 servers', '1 player on 2 servers'],
  ['en-US', GUILD, 'pl', '13 graczy na 2 serwerach', '1 gracz na 2 serwerach'],
  ['pl', undefined, 'pl', '13 graczy na 2 serwerach', '1 gracz na 2 serwerach'],
] as const)(
  'shows who plays, in a guild in %s that the settings name %p, with DISCORD_LOCALE %p',
  async (guildLocale, guildId, language, first, second) => {
    const { fake, db, poll, refreshServers, connect } = await startTestBot({
      discord: { guildLocale },
      bot: { guildId, language, showsPresence: true, timings: { presenceIntervalMs: 20 } },
    });
    const [one, two] = [await insertServer(db), await insertServer(db)];
    await insertServer(db, { name: 'Offline' });
    await poll(one.id, { playersCount: 12 });
    await poll(two.id, { playersCount: 1 });
    await refreshServers();
    await connect();
    await waitFor(() => fake.gateway.statuses.length === 1);
    await poll(one.id, { playersCount: 0 });
    await refreshServers();
    await waitFor(() => fake.gateway.statuses.length === 2);
    expect(fake.gateway.statuses).toEqual([first, second]);
  },
);

test('names the month in full in Polish when nobody has checked', async () => {
  const polledAt = new Date('2026-11-21T10:00:00Z');
  const { fake, db, poll, refreshServers, connect } = await startTestBot({
    bot: {
      language: 'pl',
      showsPresence: true,
      timings: { presenceIntervalMs: 20 },
      now: () => new Date('2026-11-21T11:00:00Z'),
    },
    staleAfterMs: 60_000,
  });
  const { id } = await insertServer(db);
  await poll(id, { playersCount: 3 }, polledAt);
  await refreshServers();
  await connect();
  await waitFor(() => fake.gateway.statuses.length === 1);
  expect(fake.gateway.statuses).toEqual(['Brak danych od 21 listopada 10:00 UTC']);
});
