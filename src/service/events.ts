import { createEventStreams } from '../../api/v1/events/event-streams.ts';
import type { EventsDeps } from '../../api/v1/events/events.ts';
import { serverEvents, soundEvents } from '../../api/v1/events/unstored-events.ts';
import { formatEventCursor } from '../domain/event.ts';
import { presentEvent } from '../events/penalty-payload.ts';
import type { LiveQuery } from '../live/live-query.ts';
import {
  listPenaltyChanges,
  listStoredEvents,
  locateCursor,
  readEventLog,
} from '../queries/penalties/events.ts';
import type { ReadyRoundSound } from '../queries/round-sounds/round-sounds.ts';
import { listLiveTokenIds } from '../queries/users/api-tokens.ts';
import type { Context } from './context.ts';

/** Sends changes of penalties, servers and sounds to clients as they happen. */
export function openEvents(
  { now, log, database, changes, serverList, eventReader: reader, metrics, onStopPart, onDrain }: Context,
  sounds: Pick<LiveQuery<{ all: readonly ReadyRoundSound[] }>, 'current' | 'onChange'>,
): EventsDeps {
  const { db, requestDb } = database;
  const cursorOf = (id: number) => formatEventCursor({ epoch: reader.epoch, id });
  const streams = createEventStreams({
    reader,
    listEvents: (afterId, range) => listStoredEvents(db, afterId, { ...range, withSilent: false }),
    listLiveTokenIds: (tokenIds, at) => listLiveTokenIds(db, tokenIds, at),
    cursorOf,
    present: (event) => {
      const data = presentEvent(event, reader);
      return { type: event.type, id: data.cursor, data };
    },
    now,
    log,
  });
  // Clients reconnect to another process; streams that are opened during the drain end with the remaining parts.
  onDrain(streams.closeAll);
  onStopPart('event streams', streams.stop, { serves: true });
  changes.onChange('api_tokens', streams.checkTokens);
  changes.onChange('users', streams.checkTokens);
  changes.onChange('erasures', streams.abortAll);
  metrics.addGauge('event_streams', 'Open event streams.', streams.count);

  let before = serverList.current();
  serverList.onChange((after) => {
    serverEvents(before, after).forEach(streams.send);
    before = after;
  });
  let soundsBefore = sounds.current().all;
  sounds.onChange(({ all }) => {
    soundEvents(soundsBefore, all, now()).forEach(streams.send);
    soundsBefore = all;
  });

  return {
    eventStreams: streams,
    listChanges: (cursor, limit) => listPenaltyChanges(requestDb, cursor, limit),
    locateEvent: async (cursor) => {
      const events = await readEventLog(requestDb);
      return cursor === undefined ? events.newestId : locateCursor(cursor, events).id;
    },
  };
}
