import {
  type APIActionRowComponent,
  type APIButtonComponent,
  type APIComponentInMessageActionRow,
  type APIEmbed,
  type APISelectMenuOption,
  ButtonStyle,
  ComponentType,
} from 'discord.js';

export type Row = APIActionRowComponent<APIComponentInMessageActionRow>;
export type Attachment = {
  /** What `attachment://` in an embed refers to. */
  name: string;
  bytes: Uint8Array;
  altText: string;
};

/** A whole message, as the renderers make it. */
export type MessageView = { embeds: APIEmbed[]; components: Row[]; files?: Attachment[] };

export const COLOURS = {
  online: 0x3ba55d,
  full: 0xe67e22,
  offline: 0x747f8d,
  danger: 0xed4245,
  warning: 0xfaa61a,
  neutral: 0x5865f2,
} as const;

/** A button that comes back as an interaction under `customId`, at most 100 characters. */
export function button(
  label: string,
  customId: string,
  { emoji, isDisabled = false, style = ButtonStyle.Secondary as const }: ButtonOptions = {},
): APIButtonComponent {
  return {
    type: ComponentType.Button,
    style,
    custom_id: customId,
    label,
    disabled: isDisabled,
    ...(emoji !== undefined && { emoji: { name: emoji } }),
  };
}

type ButtonOptions = {
  emoji?: string;
  isDisabled?: boolean;
  style?: ButtonStyle.Primary | ButtonStyle.Secondary | ButtonStyle.Success | ButtonStyle.Danger;
};

/** Discord takes http and https addresses only. */
export function linkButton(label: string, url: string): APIButtonComponent {
  return { type: ComponentType.Button, style: ButtonStyle.Link, label, url };
}

/** One row: up to five buttons, or one menu. */
export function row(...components: APIComponentInMessageActionRow[]): Row {
  return { type: ComponentType.ActionRow, components };
}

/** @param options 1 to 25, with different values. */
export function menuRow(customId: string, placeholder: string, options: APISelectMenuOption[]): Row {
  return row({ type: ComponentType.StringSelect, custom_id: customId, placeholder, options });
}

/** A short text to one person: a refusal, an apology. */
export function noticeMessage(text: string, colour: number = COLOURS.warning, rows: Row[] = []): MessageView {
  return { embeds: [{ description: text, color: colour }], components: rows };
}

/** The same message without link buttons, for when Discord refuses their address (it does so for `localhost`). */
export function withoutLinks(view: MessageView): MessageView {
  const components = view.components
    .map((line) => ({
      ...line,
      components: line.components.filter((child) => !('url' in child)),
    }))
    .filter((line) => line.components.length > 0);
  return { ...view, components };
}
