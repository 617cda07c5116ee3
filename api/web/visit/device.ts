import Bowser from 'bowser';

/** By what a session is recognised in the list of one's sessions: `Firefox`, `Windows`. */
export type Device = { browser: string | null; system: string | null };

const LONGEST = 512;
/** What the library does not know by name it takes from the header as it is: that is not kept. */
const BROWSERS: ReadonlySet<string> = new Set(Object.values(Bowser.BROWSER_MAP));
const SYSTEMS: ReadonlySet<string> = new Set(Object.values(Bowser.OS_MAP));

/** Reads browser and operating system from `User-Agent`; null for what it does not say. */
export function readDevice({ headers }: { headers: Headers }): Device {
  const agent = headers.get('user-agent')?.slice(0, LONGEST);
  if (!agent) return { browser: null, system: null };
  const { browser, os } = Bowser.parse(agent);
  return { browser: knownOf(BROWSERS, browser.name), system: knownOf(SYSTEMS, os.name) };
}

function knownOf(names: ReadonlySet<string>, name: string | undefined): string | null {
  return name !== undefined && names.has(name) ? name : null;
}
