import type { PenaltyStatus, PenaltyType } from '../../../../../src/domain/penalty.ts';
import { durationInWords } from '../../../../../src/domain/text/duration.ts';
import { plural } from '../locale.ts';

const statuses: Record<PenaltyStatus, string> = { ACTIVE: 'Active', EXPIRED: 'Expired', UNBANNED: 'Lifted' };

/** Penalties on the account page, the moderation pages and the public list. */
export const penalties = {
  own: 'Your penalties',
  ofPlayer: 'Penalties',
  ownClean: 'You have no penalties.',
  clean: 'No penalties.',
  ownNoneActive: 'You have no active penalties.',
  noneActive: 'No active penalties.',
  count: (total: number) => plural('en', total, { one: 'penalty', other: 'penalties' }),
  types: {
    ban: 'Ban',
    mute: 'Mute',
    gag: 'Gag',
    silence: 'Silence',
    warn: 'Warning',
  } satisfies Record<PenaltyType, string>,
  /** What an active penalty does to a player; followed by until when. */
  inForce: {
    ban: 'Banned',
    mute: 'Voice muted',
    gag: 'Chat muted',
    silence: 'Voice and chat muted',
    warn: 'Warned',
  } satisfies Record<PenaltyType, string>,
  until: 'until',
  ends: 'ends',
  permanently: 'permanently',
  permanent: 'permanent',
  /** For a penalty that counts down only while the player is online; shown in place of its end. */
  forOnlineTime: (minutes: number) => `for ${durationInWords('en', minutes)} of playing time`,
  /** The choices of the filter. */
  statuses,
  /** The status after its penalty's type, in another column; in some languages it agrees with the type's gender. */
  statusOf: (_type: PenaltyType, status: PenaltyStatus): string => statuses[status],
  appeal: 'Appeal',
  ended: 'Ended penalties',
  columns: {
    player: 'Player',
    status: 'Status',
    type: 'Penalty',
    reason: 'Reason',
    admin: 'Issued by',
    server: 'Server',
    duration: 'Duration',
    issued: 'Issued',
    end: 'Ended',
  },
  search: 'Name or SteamID',
  find: 'Search',
  everyType: 'All types',
  everyStatus: 'All statuses',
  severalPlayers: 'Several players match. Which one do you mean?',
  nothingFound: 'No results.',
  customAddress: 'Custom profile addresses cannot be searched for here. Enter the player’s name or SteamID.',
  unknownPlayer: 'Unknown player',
  noReason: 'No reason given',
  console: 'Console',
  unnamedAdmin: 'Unnamed admin',
  /** In place of the name of an admin who was erased. */
  formerAdmin: 'Former admin',
  allServers: 'All servers',
  /** After when a penalty was lifted. */
  by: (lifter: string) => `by ${lifter}`,
  quoted: (reason: string) => `“${reason}”`,
};
