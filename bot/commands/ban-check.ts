import { ApplicationCommandType, PermissionFlagsBits, userMention } from 'discord.js';
import { type PlayerRecord, readPlayerRecord } from '../../src/queries/player-record.ts';
import { findUserByDiscordId, findUserBySteamId } from '../../src/queries/users.ts';
import { readSteamId, type SteamId64 } from '../../src/steam-id.ts';
import {
  type Answer,
  type Asker,
  type Command,
  type Components,
  type Options,
  type Pressed,
  Refusal,
} from '../command.ts';
import { readNumber } from '../custom-id.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { PENALTIES_A_PAGE, readFilter, recordMessage } from '../embeds/record.ts';
import { en } from '../locales/en.ts';
import { pl } from '../locales/pl.ts';
import type { Reader } from '../locales/reader.ts';
import type { RecordFilter, RecordView } from '../view.ts';
import { booleanOption, localized, stringOption, userOption } from './localized.ts';
import {
  moderateMembersRequired,
  requireMaySee,
  requireOwnSteamId,
  resolveSteamId,
  type SubjectDeps,
} from './subject.ts';

export type BanCheckDeps = SubjectDeps & { now: () => Date };

/** As a command's default permissions are sent. */
export const MODERATE_MEMBERS = String(PermissionFlagsBits.ModerateMembers);

/** `/ban-check steamid? user? show?` */
export const BAN_CHECK_DEFINITION: Command['data'] = {
  ...localized(({ banCheck }) => banCheck),
  type: ApplicationCommandType.ChatInput,
  options: [
    stringOption(({ banCheck }) => banCheck.options.steamid),
    userOption(({ banCheck }) => banCheck.options.user),
    booleanOption(({ banCheck }) => banCheck.options.show),
  ],
};

/**
 * `/ban-check`: one's own record, or for moderators anyone's. Everyone may use the command, so its default permission
 * stays open; who may see whom is decided here.
 */
export function banCheckCommand(deps: BanCheckDeps): Command {
  return {
    data: BAN_CHECK_DEFINITION,
    execute: (asker, options) => {
      const isPublic = isShownToAll(asker, options);
      const reader = isPublic ? asker.publicReader : asker.reader;
      return {
        to: isPublic ? 'everyone' : 'asker',
        render: async () =>
          renderRecord(deps, asker, reader, await resolveSubject(deps, asker, options), { page: 1 }),
      };
    },
  };
}

/** The user menu. */
export const CHECK_BANS_DEFINITION: Command['data'] = {
  type: ApplicationCommandType.User,
  name: en.commands.checkBans.name,
  name_localizations: { pl: pl.commands.checkBans.name },
  default_member_permissions: MODERATE_MEMBERS,
};

/** The entry "Check bans" of the menu on a user: the record of the account linked to that user. */
export function checkBansCommand(deps: BanCheckDeps): Command {
  return {
    data: CHECK_BANS_DEFINITION,
    execute: (asker, options) => ({
      to: 'asker',
      render: async () =>
        renderRecord(deps, asker, asker.reader, await resolveSubject(deps, asker, options), { page: 1 }),
    }),
  };
}

/** Pages, filters, and the button on a profile that opens the record. All of them recheck who asks about whom. */
export function recordComponents(deps: BanCheckDeps): Components {
  const turn = (asker: Asker, pressed: Pressed, state: State): Answer => ({
    to: 'message',
    render: () => renderState(deps, asker, pressed, state),
  });
  return {
    'record.page': (asker, pressed) => {
      const [, ownerId, steamId, page, type, status] = pressed.args;
      return turn(asker, pressed, { ownerId, steamId, page, filter: readFilter(type, status) });
    },
    'record.type': (asker, pressed) => {
      const [ownerId, steamId, , status] = pressed.args;
      return turn(asker, pressed, { ownerId, steamId, filter: readFilter(pressed.values[0], status) });
    },
    'record.status': (asker, pressed) => {
      const [ownerId, steamId, type] = pressed.args;
      return turn(asker, pressed, { ownerId, steamId, filter: readFilter(type, pressed.values[0]) });
    },
    'record.open': (asker, pressed) => {
      const [ownerId, steamId] = pressed.args;
      return {
        to: 'asker',
        render: () =>
          renderState(deps, asker, { ...pressed, isEphemeral: true }, { ownerId, steamId, filter: {} }),
      };
    },
  };
}

type State = {
  ownerId: string | undefined;
  steamId: string | undefined;
  page?: string | undefined;
  filter: RecordFilter;
};

async function renderState(
  deps: BanCheckDeps,
  asker: Asker,
  pressed: Pressed,
  { ownerId, steamId, page, filter }: State,
): Promise<MessageView> {
  // The message itself tells who asked; its custom ids only repeat it.
  const isOwn =
    ownerId === asker.discordId && (pressed.ownerId === undefined || pressed.ownerId === asker.discordId);
  if (!isOwn) throw new Refusal(({ refusals }) => noticeMessage(refusals.notYours));
  const subject = readSteamId(steamId ?? '');
  if (subject === undefined) throw new Refusal(({ refusals }) => noticeMessage(refusals.outdated));
  await requireMaySee(deps, asker, subject);
  const reader = pressed.isEphemeral ? asker.reader : asker.publicReader;
  return renderRecord(deps, asker, reader, subject, { page: readNumber(page) ?? 1, ...filter });
}

/** Who is meant, once it is certain that the asker may know. A Discord user wins over a SteamID, as in the API's lookup. */
async function resolveSubject(
  deps: BanCheckDeps,
  asker: Asker,
  { strings, users }: Options,
): Promise<SteamId64> {
  const discordId = users.user;
  if (discordId !== undefined && discordId !== asker.discordId) {
    if (!asker.canModerateMembers) throw moderateMembersRequired();
    const user = await findUserByDiscordId(deps.database.reader, discordId);
    if (user) return user.steamId64;
    throw new Refusal(({ refusals }) => noticeMessage(refusals.notLinkedUser(userMention(discordId))));
  }
  const steamId = strings.steamid?.trim();
  if (discordId !== undefined || !steamId) return requireOwnSteamId(deps, asker);
  const subject = await resolveSteamId(deps, steamId);
  await requireMaySee(deps, asker, subject);
  return subject;
}

async function renderRecord(
  deps: BanCheckDeps,
  asker: Asker,
  { texts }: Reader,
  steamId: SteamId64,
  { page, ...filter }: RecordFilter & { page: number },
): Promise<MessageView> {
  const [record, user] = await Promise.all([
    readPlayerRecord(deps.database.reader, steamId, {
      ...filter,
      page,
      perPage: PENALTIES_A_PAGE,
      now: deps.now(),
    }),
    findUserBySteamId(deps.database.reader, steamId),
  ]);
  const playerName = user?.nickname || record.playerName || steamId;
  return recordMessage(toRecordView(record, { steamId, playerName, filter }), {
    texts,
    askerId: asker.discordId,
  });
}

function toRecordView(
  { rows, ...record }: PlayerRecord,
  subject: Pick<RecordView, 'steamId' | 'playerName' | 'filter'>,
): RecordView {
  return {
    ...subject,
    ...record,
    playerName: subject.playerName,
    penalties: rows.map((penalty) => ({ ...penalty, serverName: serverNameOf(penalty) })),
  };
}

/** 0 is "no server": the penalty holds everywhere. A server that is gone keeps its number. */
function serverNameOf({ serverId, serverName }: PlayerRecord['rows'][number]): string | undefined {
  return serverName ?? (serverId === 0 ? undefined : `#${serverId}`);
}

/** `show` is heeded for moderators alone. */
export function isShownToAll(asker: Asker, { booleans }: Options): boolean {
  return booleans.show === true && asker.canModerateMembers;
}
