import type { World } from './model.ts';

/** Changes a world; false if that cannot have happened in it. */
export type Change = (world: World) => boolean;
/** The worlds after something happened: none if it could not happen, several if nobody was told whether it did. */
export type Event = (world: World) => World[];

export function happened(change: Change): Event {
  return (world) => {
    const next = structuredClone(world);
    return change(next) ? [next] : [];
  };
}

export function mayHaveHappened(change: Change): Event {
  return (world) => [world, ...happened(change)(world)];
}

/** The worlds after simultaneous actions, in any order that keeps the events of each action in sequence. */
export function follow(worlds: readonly World[], doers: readonly (readonly Event[])[]): World[] {
  const found = doers.flatMap(([event, ...rest], index) => {
    const next = event ? worlds.flatMap(event) : [];
    return next.length > 0 ? follow(next, doers.with(index, rest)) : [];
  });
  const all = doers.every((events) => events.length === 0) ? worlds : found;
  return [...new Map(all.map((world) => [JSON.stringify(world), world])).values()];
}
