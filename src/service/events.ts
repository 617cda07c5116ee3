import { presentServerEvent, presentSoundChange } from '../../api/v1/events/event-models.ts';
import { createEventStreams } from '../../api/v1/events/event-streams.ts';
import type { EventsDeps } from '../../api/v1/events/events.ts';
import { formatEventCursor } from '../domain/penalty-event.ts';
import { presentChange } from '../events/penalty-payload.ts';
import { compareServers } from '../events/server-events.ts';
import { compareSounds } from '../events/sound-changes.ts';
import type { LiveQuery } from '../live/live-query.ts';
import {
  listPenaltyChanges,
  listPenaltyEvents,
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
    listEvents: (afterId, range) => listPenaltyEvents(db, afterId, { ...range, withSilent: false }),
    listLiveTokenIds: (tokenIds, at) => listLiveTokenIds(db, tokenIds, at),
    cursorOf,
    present: (event) => {
      const data = presentChange(event, reader);
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
    for (const event of compareServers(before, after)) {
      streams.send({ type: event.type, data: presentServerEvent(event) });
    }
    before = after;
  });
  let soundsBefore = sounds.current().all;
  sounds.onChange(({ all }) => {
    for (const change of compareSounds(soundsBefore, all)) {
      streams.send({ type: 'sound.changed', data: presentSoundChange(change, now()) });
    }
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
