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
