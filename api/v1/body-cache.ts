import type { ServerList } from '../../src/live/server-list.ts';
import { buildJsonBody, type JsonBody } from '../http/json.ts';

/** The body kept under a key, built when there is none. */
export type BodyCache = (key: string, build: () => unknown) => JsonBody;

/** Keeps bodies until the list of servers changes; `onLookup` is told whether one was there. */
export function createBodyCache(serverList: ServerList, onLookup: (isHit: boolean) => void): BodyCache {
  let bodies = new Map<string, JsonBody>();
  serverList.onChange(() => {
    bodies = new Map();
  });
  return (key, build) => {
    const known = bodies.get(key);
    onLookup(known !== undefined);
    if (known) return known;
    const body = buildJsonBody(build());
    bodies.set(key, body);
    return body;
  };
}
