import { eq } from 'drizzle-orm';
import { servers } from '../../../src/db/schema/servers.ts';
import { insertServerWithHistory } from '../../support/database/server-history.ts';
import { measureProcessorMs } from '../../support/machine/processes.ts';
import { waitFor } from '../../support/wait.ts';
import { type Bench, formatMs, limitFigure, type Row, repeat, requireLinux } from '../bench.ts';
import { open } from '../support/database-time.ts';
import { startDatasetService } from '../support/service.ts';

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
    await using database = await open(service.databaseUrl);
    await using stack = new AsyncDisposableStack();
    const removeServer = async () => void (await database.db.delete(servers).where(eq(servers.slug, SLUG)));
    await removeServer();
    stack.defer(removeServer);
    await insertServerWithHistory(database.db, { now: new Date(), slug: SLUG, name: 'Anonymous', days: 364 });
    await waitFor(async () => (await fetch(`${service.origin}/servers/${SLUG}`)).ok);
    const rows: Row[] = [];
    for (const { path, perMinute } of REQUEST_KINDS) {
      options.say(path(0));
      const send = async (number: number) => {
        const response = await fetch(service.origin + path(number));
        await response.arrayBuffer();
        if (!response.ok) throw new Error(`${path(number)} responded with ${response.status}`);
      };
      const processes = [service.pid, service.postmaster];
      const eachMs = (await measureProcessorMs(processes, () => repeat(REQUESTS, send))) / REQUESTS;
      rows.push(
        limitFigure(`${path(0)}, ${perMinute} a minute`, (eachMs * perMinute) / 600, {
          atMost: 2,
          floor: `${formatMs(eachMs)} a request`,
          format: (share) => `${share.toFixed(1)} % of a core`,
        }),
      );
    }
    return rows.toSorted((a, b) => Number.parseFloat(b.ours) - Number.parseFloat(a.ours));
  },
};
