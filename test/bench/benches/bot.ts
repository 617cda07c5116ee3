import { openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import {
  aSteamId,
  insertPenalties,
  insertServer,
  insertUser,
  saveServerPoll,
} from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import type { Exchange } from '../../support/discord/exchange.ts';
import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { findButton } from '../../support/discord/messages.ts';
import { botEnv, startProgram } from '../../support/service/program.ts';
import { type Bench, formatMs, percentile, type Row } from '../bench.ts';
import { readResidentMb } from '../support/child.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const INTERACTIONS = 20_000;
const AT_ONCE = 50;
const BURST = 500;
/** Sent before the soak: the heap takes the size that this load asks for. */
const WARM_UP = 20_000;
/** Memory is a mean over this many: it rises and falls with each collection. */
const STRETCH = 5000;
const SERVERS = 20;
const PLAYERS = 50;

export const bot: Bench = {
  name: 'bot',
  title: 'a burst of 500 interactions, and the memory of the service over 20,000',
  run: async ({ say }) => {
    const figures = await measureBot({ interactions: INTERACTIONS, say });
    const growth = figures.residentMb.last / figures.residentMb.warm - 1;
    const burst: Row = {
      what: `${BURST} interactions at once, slowest acknowledgement`,
      ours: formatMs(figures.burstSlowestMs),
      floor: "Discord's 3000 ms",
      ratio: (figures.burstSlowestMs / 3000).toFixed(2),
      target: 'all within 3000 ms',
      isReached: figures.burstSlowestMs < 3000 && figures.unacknowledged === 0,
    };
    const soak: Row = {
      what: `memory over ${INTERACTIONS} interactions, bot connected`,
      ours: `${figures.residentMb.last.toFixed(0)} MB`,
      floor: `${figures.residentMb.warm.toFixed(0)} MB in the first ${STRETCH}`,
      ratio: `${(growth * 100).toFixed(1)} %`,
      target: 'growth ≤ 5 %',
      isReached: growth <= 0.05,
      note: `After ${WARM_UP} to warm up. Resident memory of the whole service (API, bot; the database apart): ${figures.residentMb.all.map((mb) => mb.toFixed(0)).join(', ')} MB, means of each ${STRETCH}. ${figures.perSecond.toFixed(0)} interactions a second, p99 ${formatMs(figures.p99Ms)}, unacknowledged ${figures.unacknowledged}. Discord is played by the measuring process.`,
    };
    return [burst, soak];
  },
};

type BotFigures = {
  burstSlowestMs: number;
  p99Ms: number;
  perSecond: number;
  unacknowledged: number;
  residentMb: { warm: number; last: number; all: number[] };
};

/** Runs the whole service as a process of its own, at a Discord played here, and sends it interactions of ever new users. */
async function measureBot({
  interactions,
  say,
}: {
  interactions: number;
  say: (line: string) => void;
}): Promise<BotFigures> {
  await using postgres = await startTemporaryPostgres('bot');
  const fake = await startFakeDiscord({ forgets: true });
  const program = await startService(postgres.url, postgres.folder, fake);
  try {
    const residentMb = () => readResidentMb(program.pid);
    await runMany(fake, 1000);
    const slowest = await measureBurst(fake);
    await runMany(fake, WARM_UP);
    const all: number[] = [];
    const delays: number[] = [];
    let unacknowledged = slowest.unacknowledged;
    const startedAt = performance.now();
    for (let done = 0; done < interactions; done += STRETCH) {
      const samples: number[] = [];
      const sampling = setInterval(async () => samples.push(await residentMb()), 100);
      const exchanges = await runMany(fake, STRETCH);
      clearInterval(sampling);
      for (const { acknowledgedAt, sentAt } of exchanges) {
        if (acknowledgedAt === undefined) unacknowledged += 1;
        else delays.push(acknowledgedAt - sentAt);
      }
      all.push(samples.reduce((sum, mb) => sum + mb, 0) / samples.length);
      say(`${done + STRETCH} interactions, ${all.at(-1)?.toFixed(0)} MB`);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    return {
      burstSlowestMs: slowest.ms,
      p99Ms: percentile(delays, 0.99),
      perSecond: interactions / seconds,
      unacknowledged,
      residentMb: { warm: all[0] ?? 0, last: all.at(-1) ?? 0, all },
    };
  } finally {
    program.kill('SIGTERM');
    await program.exited;
    await fake.stop();
  }
}

async function startService(
  databaseUrl: string,
  dataDir: string,
  fake: Awaited<ReturnType<typeof startFakeDiscord>>,
) {
  await migrateDatabase(databaseUrl);
  const { db, close } = openDatabase(databaseUrl);
  for (let number = 0; number < SERVERS; number++) {
    const { id } = await insertServer(db, { slug: `bench-${number}`, name: `Bench ${number}` });
    const players = Array.from({ length: number }, (_, place) => ({ name: `Player ${place}`, score: place }));
    const state = {
      hostname: 'h',
      map: 'de_mirage',
      playersCount: number,
      maxPlayers: 32,
      pingMs: 9,
      players,
    };
    for (const minutesAgo of [20, 15, 10, 5, 0]) {
      await saveServerPoll(db, id, { state, polledAt: new Date(Date.now() - minutesAgo * 60_000) });
    }
  }
  for (let number = 1; number <= PLAYERS; number++) {
    await insertUser(db, number, { nickname: `User ${number}` });
    await insertPenalties(
      db,
      Array.from({ length: 12 }, () => ({ playerSteamId: aSteamId(number) })),
    );
  }
  await close();
  const program = startProgram('src/main.ts', {
    ...botEnv(dataDir, { databaseUrl, discord: fake }),
    LOG_LEVEL: 'info',
  });
  await program.waitFor('slash commands registered');
  return program;
}

type Fake = Awaited<ReturnType<typeof startFakeDiscord>>;

async function measureBurst(fake: Fake): Promise<{ ms: number; unacknowledged: number }> {
  const exchanges = await Promise.all(Array.from({ length: BURST }, (_, number) => interact(fake, number)));
  const delays = exchanges.map(
    ({ acknowledgedAt, sentAt }) => (acknowledgedAt ?? Number.POSITIVE_INFINITY) - sentAt,
  );
  return {
    ms: Math.max(...delays),
    unacknowledged: delays.filter((delay) => delay === Number.POSITIVE_INFINITY).length,
  };
}

async function runMany(fake: Fake, count: number): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      next += 1;
      exchanges.push(await interact(fake, next));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return exchanges;
}

/** Every kind in turn, each by a new user: cards with a chart, lists, records, lookups, autocomplete, buttons, direct messages. */
async function interact(fake: Fake, number: number): Promise<Exchange> {
  const actor = anActor({
    isModerator: true,
    locale: number % 2 ? 'pl' : 'en-US',
    guildLocale: number % 3 ? 'pl' : 'en-US',
  });
  const steamid = aSteamId((number % PLAYERS) + 1);
  switch (number % 8) {
    case 0:
      return fake.command('server', { name: `bench-${number % SERVERS}` }, actor);
    case 1:
      return fake.command('server', {}, actor);
    case 2:
      return fake.command('ban-check', { steamid }, actor);
    case 3:
      return fake.command('lookup', { steamid }, actor);
    case 4:
      return fake.autocomplete('server', 'name', 'bench', actor);
    case 5:
      return fake.command('ban-check', {}, { ...actor, guildId: undefined, channelId: actor.user.id });
    case 6:
      return fake.command('server', { name: 'no such server' }, actor);
    default: {
      const { message } = await fake.command('ban-check', { steamid }, actor);
      const next = findButton(message, 'Next') ?? findButton(message, 'Następna');
      // A deferred response has no buttons yet.
      return message && next?.custom_id
        ? fake.press(message, next.custom_id, actor)
        : fake.command('server', {}, actor);
    }
  }
}
