import { eq } from 'drizzle-orm';
import { servers } from '../../../src/db/schema/servers.ts';
import { insertServerWithHistory } from '../../support/database/server-history.ts';
import { type Bench, type BenchOptions, formatMs, limitFigure, type Row, requireLinux } from '../bench.ts';
import { readFamilyProcessorMs } from '../support/child.ts';
import { open } from '../support/database-time.ts';
import { startDatasetService } from '../support/dataset-service.ts';

const REQUESTS = 100;
const SLUG = 'anonymous';
/** The default of RATE_LIMIT_PUBLIC, for pages and the API; the service under measurement has a higher one. */
const A_MINUTE = 30;
const BANNERS_A_MINUTE = 300;

/** What nobody has to sign in for, with parameters that miss the caches where a visitor can choose them. */
const REQUEST_KINDS: { path: (number: number) => string; perMinute: number }[] = [
  { path: () => '/', perMinute: A_MINUTE },
  { path: () => `/servers/${SLUG}`, perMinute: A_MINUTE },
  { path: () => `/servers/${SLUG}/banner.png`, perMinute: BANNERS_A_MINUTE },
  { path: (number) => `/api/v1/servers/${SLUG}/history?hours=${24 + number * 87}`, perMinute: A_MINUTE },
  { path: (number) => `/penalties?page=${1000 + 79 * number}`, perMinute: A_MINUTE },
  { path: (number) => `/penalties?type=gag&status=EXPIRED&page=${100 + 79 * number}`, perMinute: A_MINUTE },
  { path: (number) => `/penalties?q=gracz+${number}`, perMinute: A_MINUTE },
  { path: () => '/penalties?q=grac', perMinute: A_MINUTE },
  { path: (number) => `/penalties?q=zz+${number}`, perMinute: A_MINUTE },
];

/** The processor time of a minute of each, by one address at its limit: of the service, its children and PostgreSQL. */
export const anonymous: Bench = {
  name: 'anonymous',
  title: 'the dearest request of one address without a token, at its limit for a minute',
  run: async (options) => {
    requireLinux();
    await using service = await startDatasetService(options, { PUBLIC_PENALTIES: '1' });
    const { child, databaseUrl, postmaster } = service;
    await using database = await open(databaseUrl);
    const removeServer = () => database.db.delete(servers).where(eq(servers.slug, SLUG));
    await removeServer();
    await insertServerWithHistory(database.db, { now: new Date(), slug: SLUG, name: 'Anonymous', days: 364 });
    try {
      await waitFor(`${child.origin}/servers/${SLUG}`);
      return await measureKinds(child.origin, [child.pid, postmaster], options);
    } finally {
      await removeServer();
    }
  },
};

async function measureKinds(origin: string, roots: readonly number[], { say }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { path, perMinute } of REQUEST_KINDS) {
    say(path(0));
    const before = await readFamilyProcessorMs(roots);
    for (let number = 0; number < REQUESTS; number++) {
      const response = await fetch(origin + path(number));
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${path(number)} responded with ${response.status}`);
    }
    const eachMs = ((await readFamilyProcessorMs(roots)) - before) / REQUESTS;
    rows.push(
      limitFigure(
        `${path(0)}, ${perMinute} a minute`,
        {
          value: (eachMs * perMinute) / 600,
          floor: `${formatMs(eachMs)} a request`,
          format: (share) => `${share.toFixed(1)} % of a core`,
        },
        { atMost: 2 },
      ),
    );
  }
  return rows.toSorted((a, b) => Number.parseFloat(b.ours) - Number.parseFloat(a.ours));
}

/** The service hears of a new server by a notification. */
async function waitFor(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if ((await fetch(url)).ok) return;
    await Bun.sleep(50);
  }
  throw new Error(`${url} does not exist`);
}
