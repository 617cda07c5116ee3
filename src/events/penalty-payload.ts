import { type EventCursor, formatEventCursor } from '../domain/event.ts';
import type { PenaltyType } from '../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../domain/steam-id.ts';
import { formatTimestamp } from '../domain/text/timestamp.ts';
import type { PenaltyEvent, StoredEvent } from '../queries/events.ts';
import type { Penalty } from '../queries/penalties/row.ts';

/** A record of any list of penalties; the list decides under which name the type is sent, if at all. */
type PenaltyRecord = ReturnType<typeof toRecord>;

/** What happened to a penalty, and the penalty as it was then. */
export type PenaltyChange = ReturnType<typeof presentChange>;

/** An event, as streams and webhooks send it. */
export function presentEvent(event: StoredEvent, log: Pick<EventCursor, 'epoch'>) {
  return 'penalty' in event ? presentChange(event, log) : { ...presentHead(event, log), ...event.data };
}

/** A change of a penalty, as `/penalties/changes` has it too. */
export function presentChange(event: PenaltyEvent, log: Pick<EventCursor, 'epoch'>) {
  return {
    ...presentHead(event, log),
    penalty: presentWithLift(event.penalty),
    is_deleted: event.isDeleted ? (true as const) : undefined,
  };
}

function presentHead({ id, type, occurredAt }: StoredEvent, { epoch }: Pick<EventCursor, 'epoch'>) {
  return { cursor: formatEventCursor({ epoch, id }), type, occurred_at: formatTimestamp(occurredAt) };
}

/** The record of `/bans` and `/warns`: specification 2.3 without `penalty_type`. */
export function presentRecord(penalty: Penalty): PenaltyRecord {
  return toRecord(penalty, {});
}

/** The record of `/penalties`. */
export function presentPenalty(penalty: Penalty): PenaltyRecord {
  return toRecord(penalty, { penalty_type: penalty.type });
}

/** The record of `/mutes`. */
export function presentMute(penalty: Penalty): PenaltyRecord {
  return toRecord(penalty, { type: penalty.type });
}

/** The record of changes: that of `/penalties`, with `lifted`. Exports build the same record in SQL. */
export function presentWithLift(penalty: Penalty): PenaltyRecord {
  return toRecord(penalty, { penalty_type: penalty.type, lifted: presentLift(penalty) });
}

/** Who lifted a penalty, when and why, each null where it is unknown; null for a penalty that nobody lifted. */
function presentLift({ status, liftedAt, liftedByName, liftedBySteamId, liftReason }: Penalty) {
  if (status !== 'UNBANNED') return null;
  return {
    at: liftedAt && formatTimestamp(liftedAt),
    admin_name: liftedByName,
    admin_steamid: liftedBySteamId ?? UNKNOWN_STEAM_ID,
    reason: liftReason,
  };
}

type Lift = ReturnType<typeof presentLift>;

/** One literal for all lists, as undefined fields are not sent: spreading a record into another takes as long as its query. */
function toRecord(penalty: Penalty, own: { penalty_type?: PenaltyType; type?: PenaltyType; lifted?: Lift }) {
  return {
    penalty_type: own.penalty_type,
    type: own.type,
    id: penalty.id,
    player_name: penalty.playerName,
    player_steamid: penalty.playerSteamId,
    admin_name: penalty.adminName,
    admin_steamid: penalty.adminSteamId,
    reason: penalty.reason,
    duration: penalty.durationMinutes,
    status: penalty.status,
    server_id: penalty.serverId,
    created: formatTimestamp(penalty.createdAt),
    ends: penalty.endsAt && formatTimestamp(penalty.endsAt),
    lifted: own.lifted,
  };
}
