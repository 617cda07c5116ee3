import { parseArgs } from 'node:util';
import { type Bench, NotMeasured } from './bench.ts';
import { anonymous } from './benches/anonymous.ts';
import { events } from './benches/events.ts';
import { exportBench } from './benches/export.ts';
import { fairness } from './benches/fairness.ts';
import { history } from './benches/history.ts';
import { http } from './benches/http.ts';
import { importBench } from './benches/import.ts';
import { lookups } from './benches/lookups.ts';
import { pages } from './benches/pages.ts';
import { penalties } from './benches/penalties.ts';
import { poll } from './benches/poll.ts';
import { search } from './benches/search.ts';
import { small } from './benches/small.ts';
import { soak } from './benches/soak.ts';
import { sounds } from './benches/sounds.ts';
import { formatSection, type Outcome, saveSection } from './results.ts';

/** In the order they run. */
const BENCHES: readonly Bench[] = [
  small,
  http,
  penalties,
  lookups,
  search,
  history,
  pages,
  anonymous,
  poll,
  importBench,
  sounds,
  exportBench,
  fairness,
  events,
  soak,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '3' },
    'no-save': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const wanted = positionals.length === 0 ? BENCHES : BENCHES.filter(({ name }) => positionals.includes(name));
const unknown = positionals.filter((name) => BENCHES.every((bench) => bench.name !== name));
if (values.help || unknown.length > 0) {
  for (const name of unknown) console.error(`There is no bench ${name}`);
  console.log('bun run bench [NAME…] [--rows N] [--minutes N] [--no-save]\n');
  for (const { name, title } of BENCHES) console.log(`  ${name.padEnd(12)} ${title}`);
  process.exit(unknown.length > 0 ? 2 : 0);
}

for (const bench of wanted) {
  const section = formatSection(bench, await measure(bench), new Date());
  console.log(`\n${section}`);
  if (!values['no-save']) await saveSection(bench.name, section);
}
process.exit(0);

async function measure(bench: Bench): Promise<Outcome> {
  try {
    const say = (line: string) => console.error(`… ${bench.name}: ${line}`);
    return { rows: await bench.run({ rows: Number(values.rows), minutes: Number(values.minutes), say }) };
  } catch (error) {
    if (error instanceof NotMeasured) return { missing: error.message };
    throw error;
  }
}
