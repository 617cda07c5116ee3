import {
  type APIActionRowComponent,
  type APIButtonComponent,
  type APIComponentInMessageActionRow,
  type APIEmbed,
  type APISelectMenuOption,
  ButtonStyle,
  ComponentType,
} from 'discord.js';
import { type SteamId64, steamProfileUrl } from '../../src/domain/steam-id.ts';
import type { Texts } from '../locales/en.ts';
import { toCustomId } from './custom-id.ts';

export type Row = APIActionRowComponent<APIComponentInMessageActionRow>;

export type Attachment = {
  /** Embeds refer to the attachment by `attachment://` and this name. */
  name: string;
  bytes: Uint8Array;
  altText: string;
};

/** A whole message. */
export type MessageView = {
  /** What a notification on a phone shows; it does not show embeds. */
  content?: string;
  embeds: APIEmbed[];
  components: Row[];
  files?: Attachment[];
};

export const COLOURS = {
  online: 0x3ba55d,
  full: 0xe67e22,
  offline: 0x747f8d,
  danger: 0xed4245,
  warning: 0xfaa61a,
  neutral: 0x5865f2,
} as const;

/** A button that sends an interaction with `customId`, at most 100 characters. */
export function button(
  label: string,
  customId: string,
  { emoji, isDisabled = false }: { emoji?: string; isDisabled?: boolean } = {},
): APIButtonComponent {
  return {
    type: ComponentType.Button,
    style: ButtonStyle.Secondary,
    custom_id: customId,
    label,
    disabled: isDisabled,
    ...(emoji !== undefined && { emoji: { name: emoji } }),
  };
}

/** A button that opens an address; Discord accepts http and https only. */
export function linkButton(label: string, url: string): APIButtonComponent {
  return { type: ComponentType.Button, style: ButtonStyle.Link, label, url };
}

/** Buttons that open a page about a player on this site, if there is one for the reader, and their profile at Steam. */
export function playerLinks(
  { buttons }: Texts,
  steamId: SteamId64,
  page: string | undefined,
): APIButtonComponent[] {
  const profile = linkButton(buttons.profile, steamProfileUrl(steamId));
  return page === undefined ? [profile] : [linkButton(buttons.site, page), profile];
}

/** A button that opens the record of a player, for the one who presses it. */
export function recordButton(steamId: SteamId64, { buttons }: Texts): APIButtonComponent {
  return button(buttons.record, toCustomId('record.open', steamId), { emoji: '📜' });
}

/** One row: up to five buttons, or one menu. */
export function row(...components: APIComponentInMessageActionRow[]): Row {
  return { type: ComponentType.ActionRow, components };
}

/** A row with one menu. @param options 1 to 25, with different values. */
export function menuRow(customId: string, placeholder: string, options: APISelectMenuOption[]): Row {
  return row({ type: ComponentType.StringSelect, custom_id: customId, placeholder, options });
}

/** The rows of a message as Discord accepts them: it refuses links to hosts such as `localhost`, and rows without anything. */
export function rowsOf({ components }: MessageView): Row[] {
  const isAccepted = (child: APIComponentInMessageActionRow) =>
    !('url' in child) || new URL(child.url).hostname.includes('.');
  return components
    .map((each) => row(...each.components.filter(isAccepted)))
    .filter((each) => each.components.length > 0);
}

/** A message to one person: a text that notifications on phones show, and buttons that open addresses. */
export function personalMessage(content: string, ...links: APIButtonComponent[]): MessageView {
  return { content, embeds: [], components: links.length === 0 ? [] : [row(...links)] };
}

/** A short text for one person, such as a refusal. */
export function noticeMessage(text: string, colour: number = COLOURS.warning, rows: Row[] = []): MessageView {
  return { embeds: [{ description: text, color: colour }], components: rows };
}
