import {
  type APIEmbed,
  type APISelectMenuOption,
  ButtonBuilder,
  ButtonStyle,
  ComponentType,
  EmbedBuilder,
  embedLength,
  StringSelectMenuBuilder,
} from 'discord.js';
import { FormErrors } from './form-errors.ts';

export type FakeComponent = {
  type: number;
  custom_id?: string;
  style?: number;
  label?: string;
  url?: string;
  disabled?: boolean;
  placeholder?: string;
  options?: { label: string; value: string; description?: string; default?: boolean }[];
  components?: FakeComponent[];
};

export type MessageForm = {
  content?: string | null;
  embeds?: APIEmbed[] | null;
  components?: FakeComponent[] | null;
  attachments?: { id: string | number; filename?: string; description?: string }[] | null;
  allowed_mentions?: { parse?: string[]; roles?: string[] } | null;
  flags?: number;
  nonce?: string;
  enforce_nonce?: boolean;
};

export type UploadedFile = { name: string; bytes: Uint8Array; description?: string };

/**
 * What Discord refuses in a message: each part is built by discord.js's builders, which validate it; what they do not know
 * is checked by the documentation.
 * @see https://docs.discord.com/developers/resources/message#embed-object-embed-limits
 * @see https://docs.discord.com/developers/components/reference
 */
export function checkMessage(
  form: MessageForm,
  files: readonly UploadedFile[],
  { isEdit = false, prefix = '' } = {},
): Record<string, unknown> | undefined {
  const errors = new FormErrors();
  errors.require('content', (form.content ?? '').length <= 2000, 'At most 2000 characters');
  checkEmbeds(errors, form.embeds ?? [], isEdit ? undefined : files);
  checkRows(errors, `${prefix}components`, form.components ?? []);
  for (const { description = '' } of form.attachments ?? []) {
    errors.require('attachments', description.length <= 1024, 'Descriptions have at most 1024 characters');
  }
  const isEmpty = !form.content && !form.embeds?.length && !form.components?.length && files.length === 0;
  if (isEmpty && !isEdit && errors.isEmpty) return { message: 'Cannot send an empty message', code: 50006 };
  return errors.body();
}

/** @param files of the message; undefined: images may be those that it has already. */
function checkEmbeds(
  errors: FormErrors,
  embeds: APIEmbed[],
  files: readonly UploadedFile[] | undefined,
): void {
  const total = embeds.reduce((sum, embed) => sum + embedLength(embed), 0);
  errors.require('embeds', total <= 6000, 'At most 6000 characters in all embeds');
  for (const [index, embed] of embeds.entries()) {
    const at = `embeds.${index}`;
    const { title = null, description = null, color = null, fields = [], footer, author } = embed;
    errors.check(at, () =>
      new EmbedBuilder()
        .setTitle(title)
        .setDescription(description)
        .setColor(color)
        .setFields(fields)
        .setFooter(footer ?? null)
        .setAuthor(author ?? null)
        .setImage(embed.image?.url ?? null)
        .setThumbnail(embed.thumbnail?.url ?? null),
    );
    const texts = [title, description, ...fields.flatMap(({ name, value }) => [name, value])];
    errors.require(at, !texts.some((text) => text !== null && text.trim() === ''), 'A text is blank');
    const [, attached] = embed.image?.url.match(/^attachment:\/\/(.+)$/) ?? [];
    // The real service shows a broken image; here it is an error, so that a test notices.
    const isThere = !attached || !files || files.some(({ name }) => name === attached);
    errors.require(at, isThere, `No file is called ${attached}`);
    const isEmpty = !title && !description && fields.length === 0 && !embed.image && !author;
    errors.require(at, !isEmpty, 'An embed needs something in it');
  }
}

function checkRows(errors: FormErrors, path: string, rows: FakeComponent[]): void {
  errors.require(path, rows.length <= 5, 'At most 5');
  const ids = rows.flatMap((row) => row.components ?? []).flatMap(({ custom_id: id }) => id ?? []);
  errors.require(path, new Set(ids).size === ids.length, 'The same custom id twice');
  for (const [index, { components = [] }] of rows.entries()) {
    const most = components.some(({ type }) => type === ComponentType.StringSelect) ? 1 : 5;
    const isFilled = components.length >= 1 && components.length <= most;
    errors.require(`${path}.${index}`, isFilled, `1 to ${most} components`);
    for (const [number, child] of components.entries()) {
      const at = `${path}.${index}.components.${number}`;
      if (child.type === ComponentType.Button) checkButton(errors, at, child);
      else checkMenu(errors, at, child);
    }
  }
}

function checkMenu(errors: FormErrors, at: string, menu: FakeComponent): void {
  const { custom_id: customId = '', placeholder = '', options = [] } = menu;
  errors.check(at, () =>
    new StringSelectMenuBuilder()
      .setCustomId(customId)
      .setPlaceholder(placeholder)
      .setOptions(options as APISelectMenuOption[]),
  );
  const values = new Set(options.map(({ value }) => value));
  errors.require(at, options.length > 0 && values.size === options.length, 'No option, or one twice');
  errors.require(at, options.filter((option) => option.default).length <= 1, 'Too many defaults');
}

function checkButton(errors: FormErrors, at: string, button: FakeComponent): void {
  const { style = 0, label = '', custom_id: customId = '', url = '' } = button;
  errors.check(at, () => new ButtonBuilder().setStyle(style).setLabel(label));
  if (style !== ButtonStyle.Link) {
    errors.check(at, () => new ButtonBuilder().setCustomId(customId));
    return;
  }
  errors.check(`${at}.url`, () => new ButtonBuilder().setURL(url), 'URL_TYPE_INVALID_SCHEME');
  errors.require(at, url.length <= 512, 'At most 512 characters');
  const isPublic = !URL.canParse(url) || new URL(url).hostname.includes('.');
  errors.require(`${at}.url`, isPublic, 'Not a well formed URL.', 'URL_TYPE_INVALID_URL');
}
