/** What is uploaded; silence and text never become sounds. */
export const SOUNDS = ['tone', 'chord', 'silence', 'text'] as const;
export type SoundName = (typeof SOUNDS)[number];

/** How a worker's claim ended. `gone`: the upload was replaced, removed, or claimed by another worker. */
export type Outcome = 'published' | 'silent' | 'not-audio' | 'gone' | 'killed' | 'killed after a move';
/** The outcome of an undisturbed worker. */
const OUTCOMES = { tone: 'published', chord: 'published', silence: 'silent', text: 'not-audio' } as const;

type Upload = { player: string; title: string; sound: SoundName };
/** A worker's claim: the number of times that the upload has been claimed identifies it. */
export type Claim = { title: string; attempts: number };
type Row = Upload & {
  /** `in place`: a worker was killed after it had moved the file, and before the row could say so. */
  status: 'waiting' | 'in place' | 'ready' | 'failed';
  attempts: number;
  isClaimed: boolean;
};

/**
 * What may be true of all sounds: who has an account, and the rows by age, of which the newest counts. Each function
 * below changes it, and returns whether that can have happened.
 */
export type World = { members: readonly string[]; rows: Row[] };

export function upload(world: World, { isMember, ...given }: Upload & { isMember: boolean }): boolean {
  if (isMember && !world.members.includes(given.player)) return false;
  const sound = findSound(world, given.player, ['ready', 'in place']);
  remove(world, given.player);
  if (sound) world.rows.push({ ...sound, status: 'ready' });
  world.rows.push({ ...given, status: 'waiting', attempts: 0, isClaimed: false });
  return true;
}

export function remove(world: World, player: string): boolean {
  const before = world.rows.length;
  world.rows = world.rows.filter((row) => row.player !== player);
  return world.rows.length < before;
}

export function erase(world: World, player: string): boolean {
  remove(world, player);
  world.members = world.members.filter((one) => one !== player);
  return true;
}

/** @param isAlone nothing else happens: the oldest is claimed. Otherwise a worker skips what others have locked. */
export function claim(world: World, claimed: Claim | undefined, isAlone: boolean): boolean {
  const free = listUnfinished(world).filter(({ isClaimed }) => !isClaimed);
  const row = isAlone ? free[0] : free.find(({ title }) => title === claimed?.title);
  if (row) Object.assign(row, { attempts: row.attempts + 1, isClaimed: true });
  return row?.title === claimed?.title && row?.attempts === claimed?.attempts;
}

/** The claims of workers that were killed, or that hang, run out. */
export function lapse(world: World): boolean {
  for (const row of world.rows) row.isClaimed = false;
  return true;
}

export function finish(world: World, { title, attempts }: Claim, outcome: Outcome): boolean {
  const row = listUnfinished(world).find((one) => one.title === title && one.attempts === attempts);
  if (!row || outcome === 'killed') return outcome === 'killed' || outcome === 'gone';
  row.status = outcome === 'published' ? 'ready' : outcome === 'killed after a move' ? 'in place' : 'failed';
  return row.status === 'in place' || outcome === OUTCOMES[row.sound];
}

/** The newest sound of a player: `ready`, the listed one; or `in place`, the one in their file. */
export function findSound({ rows }: World, player: string, statuses: Row['status'][]): Row | undefined {
  return rows.findLast((row) => row.player === player && statuses.includes(row.status));
}

export function listUnfinished({ rows }: World): Row[] {
  return rows.filter(({ status }) => status === 'waiting' || status === 'in place');
}
