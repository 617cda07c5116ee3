import Bowser from 'bowser';

/** Browser and operating system that identify a session in the user's list: `Firefox`, `Windows`. */
export type Device = { browser: string | null; system: string | null };

const MAX_USER_AGENT_LENGTH = 512;
/** Known names only: for unknown browsers and systems the library returns text from the header, which is not stored. */
const BROWSERS: ReadonlySet<string> = new Set(Object.values(Bowser.BROWSER_MAP));
const SYSTEMS: ReadonlySet<string> = new Set(Object.values(Bowser.OS_MAP));

/** Reads browser and operating system from `User-Agent`; null for those that it does not name. */
export function readDevice({ headers }: { headers: Headers }): Device {
  const agent = headers.get('user-agent')?.slice(0, MAX_USER_AGENT_LENGTH);
  if (!agent) return { browser: null, system: null };
  const { browser, os } = Bowser.parse(agent);
  return { browser: knownOf(BROWSERS, browser.name), system: knownOf(SYSTEMS, os.name) };
}

function knownOf(names: ReadonlySet<string>, name: string | undefined): string | null {
  return name !== undefined && names.has(name) ? name : null;
}
