import { isDiscordId } from './discord-id.ts';
import {
  type SteamId64,
  type SteamReference,
  tryParseAccountId,
  tryParseSteamReference,
} from './steam-id.ts';

/** What refers to a person other than part of a name; {@link tryParsePersonReference} lists the forms. */
export type PersonReference =
  | SteamReference
  /** Digits that may be a Steam account id. */
  | { accountOf: SteamId64 }
  | { discordId: string }
  /** The name of a Discord account, without its `@`. */
  | { discordName: string };

/**
 * Reads a reference to a person: what {@link tryParseSteamReference} reads, a Steam account id (1 to 10 digits),
 * a Discord id (more digits) or `<@id>`, or the `@name` of a Discord account. All but Steam's forms may be a name as well.
 * @returns undefined for everything else, which can only be a name.
 */
export function tryParsePersonReference(text: string): PersonReference | undefined {
  const steam = tryParseSteamReference(text);
  if (steam) return steam;
  const trimmed = text.trim();
  if (/^[0-9]{1,10}$/.test(trimmed)) {
    const accountOf = tryParseAccountId(trimmed);
    return accountOf && { accountOf };
  }
  const discordId = /^<@!?([0-9]+)>$/.exec(trimmed)?.[1] ?? trimmed;
  if (isDiscordId(discordId)) return { discordId };
  const discordName = /^@(.+)$/.exec(trimmed)?.[1];
  return discordName === undefined ? undefined : { discordName };
}
