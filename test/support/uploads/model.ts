/** What is uploaded; silence and text never become sounds. */
export const SOUNDS = ['tone', 'chord', 'silence', 'text'] as const;
export type SoundName = (typeof SOUNDS)[number];

/** How an attempt to render an upload ended. `gone`: it was replaced, removed, or claimed by another worker. */
export type Outcome = 'published' | 'silent' | 'not-audio' | 'gone' | { killedAfterMoves: number };

type Upload = { title: string; player: string; sound: SoundName };
/** `moved`: how many of its two files killed workers had put in place before the row could say so. */
type Row = Upload & {
  status: 'waiting' | 'ready' | 'failed';
  moved: number;
  worker?: number;
  isLapsed?: boolean;
};
/** What may be true of all sounds: rows by age, and who has an account. */
export type World = { rows: readonly Row[]; members: readonly string[] };
/** The worlds after something happened: none if it could not happen, several if it may have had an effect or none. */
export type Event = (world: World) => World[];

export function upload(
  { isMember, ...given }: Upload & { isMember: boolean },
  result: 'accepted' | 'refused' | 'killed',
): Event {
  return (world) => {
    const isRefused = isMember && !world.members.includes(given.player);
    if (isRefused || result === 'refused') return isRefused && result !== 'accepted' ? [world] : [];
    // An earlier upload whose file is in place counts as published.
    const inPlace = rowsOf(world, given.player).find(({ moved }) => moved > 0);
    const before = inPlace ? publish(world, inPlace) : world;
    const kept = before.rows.filter(({ player, status }) => player !== given.player || status === 'ready');
    const accepted: World = { ...world, rows: [...kept, { ...given, status: 'waiting', moved: 0 }] };
    if (result === 'accepted') return [accepted];
    return [world, accepted, ...(inPlace ? [change(world, inPlace, { moved: 2 })] : [])];
  };
}

export function remove(player: string, result: 'removed' | 'none'): Event {
  return (world) => {
    const hasAny = rowsOf(world, player).length > 0;
    return hasAny === (result === 'removed') ? [withoutRowsOf(world, player)] : [];
  };
}

export function erase(player: string): Event {
  return (world) => [
    { ...withoutRowsOf(world, player), members: world.members.filter((one) => one !== player) },
  ];
}

/** @param isAlone nothing else happened: the oldest is claimed. Otherwise a worker passes by what others have locked. */
export function claim(worker: number, title: string | undefined, { isAlone }: { isAlone: boolean }): Event {
  return (world) => {
    const open = world.rows.filter((row) => row.status === 'waiting' && (!row.worker || row.isLapsed));
    const row = isAlone ? open[0] : open.find((one) => one.title === title);
    if (row?.title !== title) return [];
    return [row ? change(world, row, { worker, isLapsed: false }) : world];
  };
}

/** What a worker said of the upload that it had claimed. */
export function finish(worker: number, outcome: Outcome): Event {
  return (world) => {
    const row = world.rows.find((one) => one.worker === worker && one.status === 'waiting');
    if (outcome === 'gone') return row ? [] : [world];
    if (typeof outcome === 'object') {
      if (row) return [change(world, row, { moved: row.moved + outcome.killedAfterMoves })];
      return outcome.killedAfterMoves === 0 ? [world] : [];
    }
    if (!row || outcome !== outcomeOf(row.sound)) return [];
    return [outcome === 'published' ? publish(world, row) : change(world, row, { status: 'failed' })];
  };
}

/** The claims of workers that were killed, or that hang, run out. */
export function lapse(world: World): World[] {
  return [{ ...world, rows: world.rows.map((row) => ({ ...row, isLapsed: true })) }];
}

/** What the file of a player holds. */
export function hear(player: string, sound: SoundName | undefined): Event {
  return (world) => (heardOf(world, player) === sound ? [world] : []);
}

/** What the service says of the sounds of all players; the voice file of one who is between two sounds does not count. */
export function list(told: readonly { player: string; title?: string; sound?: SoundName }[]): Event {
  return (world) => {
    const isTrue = told.every(({ player, title, sound }) => {
      const ready = rowsOf(world, player).find(({ status }) => status === 'ready');
      return ready?.title === title && ready?.sound === sound;
    });
    return isTrue ? [world] : [];
  };
}

export function outcomeOf(sound: SoundName): Outcome {
  return ({ silence: 'silent', text: 'not-audio', tone: 'published', chord: 'published' } as const)[sound];
}

/** The worlds after what was done at once, in any order that each doer's own events allow. */
export function follow(worlds: readonly World[], doers: readonly (readonly Event[])[]): World[] {
  const found = doers.flatMap(([event, ...rest], index) => {
    const next = event ? worlds.flatMap(event) : [];
    return next.length > 0 ? follow(next, doers.with(index, rest)) : [];
  });
  const all = doers.every((events) => events.length === 0) ? worlds : found;
  return [...new Map(all.map((world) => [JSON.stringify(world), world])).values()];
}

function rowsOf({ rows }: World, player: string): Row[] {
  return rows.filter((row) => row.player === player);
}

function withoutRowsOf(world: World, player: string): World {
  return { ...world, rows: world.rows.filter((row) => row.player !== player) };
}

function heardOf(world: World, player: string): SoundName | undefined {
  const own = rowsOf(world, player);
  return (own.find(({ moved }) => moved > 0) ?? own.find(({ status }) => status === 'ready'))?.sound;
}

function change(world: World, row: Row, values: Partial<Row>): World {
  return { ...world, rows: world.rows.map((one) => (one === row ? { ...one, ...values } : one)) };
}

/** It becomes the only sound of its player. */
function publish(world: World, row: Row): World {
  const ready = change(world, row, { status: 'ready', moved: 0 });
  return {
    ...ready,
    rows: ready.rows.filter(({ player, title }) => player !== row.player || title === row.title),
  };
}
