import { ApplicationCommandType, PermissionFlagsBits, userMention } from 'discord.js';
import { type PlayerRecord, readPlayerRecord } from '../../src/queries/player-record.ts';
import { findUserByDiscordId, findUserBySteamId } from '../../src/queries/users.ts';
import { readSteamId, type SteamId64 } from '../../src/steam-id.ts';
import {
  type Command,
  type CommandOptions,
  type CommandResponse,
  type ComponentPress,
  type Components,
  type Invoker,
  Refusal,
} from '../command.ts';
import { readNumber } from '../custom-id.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { PENALTIES_PER_PAGE, recordMessage } from '../embeds/record.ts';
import { readFilter } from '../embeds/record-controls.ts';
import type { RecordFilter, RecordView } from '../embeds/record-view.ts';
import { en } from '../locales/en.ts';
import type { Localization } from '../locales/localization.ts';
import { pl } from '../locales/pl.ts';
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
    execute: (invoker, options) => {
      const isPublic = isShownToAll(invoker, options);
      const localization = isPublic ? invoker.guildLocalization : invoker.localization;
      return {
        kind: isPublic ? 'public' : 'ephemeral',
        render: async () =>
          renderRecord(deps, invoker, localization, await resolveSubject(deps, invoker, options), {
            page: 1,
          }),
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
    execute: (invoker, options) => ({
      kind: 'ephemeral',
      render: async () =>
        renderRecord(deps, invoker, invoker.localization, await resolveSubject(deps, invoker, options), {
          page: 1,
        }),
    }),
  };
}

/** Pages, filters, and the button on a profile that opens the record. All of them recheck who asks about whom. */
export function recordComponents(deps: BanCheckDeps): Components {
  const turn = (invoker: Invoker, press: ComponentPress, state: State): CommandResponse => ({
    kind: 'update',
    render: () => renderState(deps, invoker, press, state),
  });
  return {
    'record.page': (invoker, press) => {
      const [, ownerId, steamId, page, type, status] = press.args;
      return turn(invoker, press, { ownerId, steamId, page, filter: readFilter(type, status) });
    },
    'record.type': (invoker, press) => {
      const [ownerId, steamId, , status] = press.args;
      return turn(invoker, press, { ownerId, steamId, filter: readFilter(press.values[0], status) });
    },
    'record.status': (invoker, press) => {
      const [ownerId, steamId, type] = press.args;
      return turn(invoker, press, { ownerId, steamId, filter: readFilter(type, press.values[0]) });
    },
    'record.open': (invoker, press) => {
      const [ownerId, steamId] = press.args;
      return {
        kind: 'ephemeral',
        render: () =>
          renderState(deps, invoker, { ...press, isEphemeral: true }, { ownerId, steamId, filter: {} }),
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
  invoker: Invoker,
  press: ComponentPress,
  { ownerId, steamId, page, filter }: State,
): Promise<MessageView> {
  // The message itself tells who asked; its custom ids only repeat it.
  const isOwn =
    ownerId === invoker.discordId &&
    (press.messageOwnerId === undefined || press.messageOwnerId === invoker.discordId);
  if (!isOwn) throw new Refusal(({ refusals }) => noticeMessage(refusals.notYours));
  const subject = readSteamId(steamId ?? '');
  if (subject === undefined) throw new Refusal(({ refusals }) => noticeMessage(refusals.outdated));
  await requireMaySee(deps, invoker, subject);
  const localization = press.isEphemeral ? invoker.localization : invoker.guildLocalization;
  return renderRecord(deps, invoker, localization, subject, { page: readNumber(page) ?? 1, ...filter });
}

/** Who is meant, once it is certain that the invoker may know. A Discord user wins over a SteamID, as in the API's lookup. */
async function resolveSubject(
  deps: BanCheckDeps,
  invoker: Invoker,
  { strings, users }: CommandOptions,
): Promise<SteamId64> {
  const discordId = users.user;
  if (discordId !== undefined && discordId !== invoker.discordId) {
    if (!invoker.canModerateMembers) throw moderateMembersRequired();
    const user = await findUserByDiscordId(deps.database.reader, discordId);
    if (user) return user.steamId64;
    throw new Refusal(({ refusals }) => noticeMessage(refusals.notLinkedUser(userMention(discordId))));
  }
  const steamId = strings.steamid?.trim();
  if (discordId !== undefined || !steamId) return requireOwnSteamId(deps, invoker);
  const subject = await resolveSteamId(deps, steamId);
  await requireMaySee(deps, invoker, subject);
  return subject;
}

async function renderRecord(
  deps: BanCheckDeps,
  invoker: Invoker,
  { texts }: Localization,
  steamId: SteamId64,
  { page, ...filter }: RecordFilter & { page: number },
): Promise<MessageView> {
  const [record, user] = await Promise.all([
    readPlayerRecord(deps.database.reader, steamId, {
      ...filter,
      page,
      perPage: PENALTIES_PER_PAGE,
      now: deps.now(),
    }),
    findUserBySteamId(deps.database.reader, steamId),
  ]);
  const playerName = user?.nickname || record.playerName || steamId;
  return recordMessage(toRecordView(record, { steamId, playerName, filter }), {
    texts,
    invokerId: invoker.discordId,
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
export function isShownToAll(invoker: Invoker, { booleans }: CommandOptions): boolean {
  return booleans.show === true && invoker.canModerateMembers;
}
