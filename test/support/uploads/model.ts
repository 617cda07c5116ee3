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

/** What may be true of all sounds: rows by age, and who has an account. Each event says whether it can have happened. */
export class World {
  private rows: Row[] = [];

  constructor(private members: readonly string[]) {}

  upload({ isMember, ...given }: Upload & { isMember: boolean }): boolean {
    if (isMember && this.refuses(given.player)) return false;
    const inPlace = this.rows.find(({ player, status }) => player === given.player && status === 'in place');
    if (inPlace) this.publish(inPlace);
    this.rows = this.rows.filter(({ player, status }) => player !== given.player || status === 'ready');
    this.rows.push({ ...given, status: 'waiting', attempts: 0, isClaimed: false });
    return true;
  }

  refuses(player: string): boolean {
    return !this.members.includes(player);
  }

  remove(player: string): boolean {
    const before = this.rows.length;
    this.rows = this.rows.filter((row) => row.player !== player);
    return this.rows.length < before;
  }

  erase(player: string): boolean {
    this.remove(player);
    this.members = this.members.filter((one) => one !== player);
    return true;
  }

  /** @param isAlone nothing else happens: the oldest is claimed. Otherwise a worker passes by what others have locked. */
  claim(claim: Claim | undefined, { isAlone }: { isAlone: boolean }): boolean {
    const free = this.unfinished.filter(({ isClaimed }) => !isClaimed);
    const row = isAlone ? free[0] : free.find(({ title }) => title === claim?.title);
    if (row) Object.assign(row, { attempts: row.attempts + 1, isClaimed: true });
    return row?.title === claim?.title && row?.attempts === claim?.attempts;
  }

  /** The claims of workers that were killed, or that hang, run out. */
  lapse(): boolean {
    for (const row of this.rows) row.isClaimed = false;
    return true;
  }

  finish({ title, attempts }: Claim, outcome: Outcome): boolean {
    const row = this.unfinished.find((one) => one.title === title && one.attempts === attempts);
    if (!row) return outcome === 'gone' || outcome === 'killed';
    if (outcome === 'killed') return true;
    if (outcome === 'killed after a move') row.status = 'in place';
    else if (outcome === 'published') this.publish(row);
    else row.status = 'failed';
    return row.status === 'in place' || outcome === OUTCOMES[row.sound];
  }

  /** What is told of a player, and what their file holds. */
  find(player: string): {
    title?: string | undefined;
    sound?: SoundName | undefined;
    file?: SoundName | undefined;
  } {
    const own = this.rows.filter((row) => row.player === player);
    const ready = own.find(({ status }) => status === 'ready');
    const file = own.find(({ status }) => status === 'in place') ?? ready;
    return { title: ready?.title, sound: ready?.sound, file: file?.sound };
  }

  get unfinished(): Row[] {
    return this.rows.filter(({ status }) => status === 'waiting' || status === 'in place');
  }

  copy(): World {
    return Object.assign(new World([]), structuredClone(this));
  }

  /** It becomes the only sound of its player. */
  private publish(row: Row): void {
    row.status = 'ready';
    this.rows = this.rows.filter((one) => one.player !== row.player || one === row);
  }
}
