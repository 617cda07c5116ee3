import {
  type APIEmbed,
  ButtonStyle,
  ComponentAssertions,
  ComponentType,
  EmbedAssertions,
  embedLength,
} from 'discord.js';
import { FormErrors } from './form-errors.ts';

export type FakeComponent = {
  type: number;
  custom_id?: string;
  style?: number;
  label?: string;
  url?: string;
  disabled?: boolean;
  emoji?: { name?: string; id?: string };
  placeholder?: string;
  min_values?: number;
  max_values?: number;
  options?: { label: string; value: string; description?: string; default?: boolean; emoji?: unknown }[];
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

const SELECTS: readonly number[] = [
  ComponentType.StringSelect,
  ComponentType.UserSelect,
  ComponentType.RoleSelect,
  ComponentType.MentionableSelect,
  ComponentType.ChannelSelect,
];

/**
 * What Discord refuses in a message: each part is checked by the validators of discord.js's builders, what they do not know
 * by the documentation.
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
  errors.require('nonce', (form.nonce ?? '').length <= 25, 'At most 25 characters');
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
  errors.require('embeds', embeds.length <= 10, 'At most 10');
  const total = embeds.reduce((sum, embed) => sum + embedLength(embed), 0);
  errors.require('embeds', total <= 6000, 'At most 6000 characters in all embeds');
  for (const [index, embed] of embeds.entries()) {
    const at = `embeds.${index}`;
    const { title = null, description = null, color = null, fields = [], timestamp } = embed;
    const isBlank = (text: string) => text.trim() === '';
    errors.check(`${at}.title`, () => EmbedAssertions.titlePredicate.parse(title));
    errors.check(`${at}.description`, () => EmbedAssertions.descriptionPredicate.parse(description));
    errors.check(`${at}.color`, () => EmbedAssertions.colorPredicate.parse(color));
    errors.check(`${at}.fields`, () => EmbedAssertions.embedFieldsArrayPredicate.parse(fields));
    errors.check(`${at}.fields`, () => EmbedAssertions.validateFieldLength(fields.length));
    errors.check(`${at}.footer`, () => EmbedAssertions.footerTextPredicate.parse(embed.footer?.text ?? null));
    errors.check(`${at}.author`, () => EmbedAssertions.authorNamePredicate.parse(embed.author?.name ?? null));
    for (const url of [embed.url, embed.author?.url]) {
      errors.check(`${at}.url`, () => EmbedAssertions.urlPredicate.parse(url));
    }
    for (const image of [embed.image, embed.thumbnail]) {
      errors.check(`${at}.image`, () => EmbedAssertions.imageURLPredicate.parse(image?.url));
    }
    errors.require(`${at}.timestamp`, !Number.isNaN(Date.parse(timestamp ?? '2026-01-01')), 'Not a time');
    const texts = [title, description, ...fields.flatMap(({ name, value }) => [name, value])];
    errors.require(at, !texts.some((text) => text !== null && isBlank(text)), 'A text is blank');
    const [, attached] = embed.image?.url.match(/^attachment:\/\/(.+)$/) ?? [];
    // The real service shows a broken image; here it is an error, so that a test notices.
    const isThere = !attached || !files || files.some(({ name }) => name === attached);
    errors.require(`${at}.image`, isThere, `No file is called ${attached}`);
    const isEmpty = !title && !description && fields.length === 0 && !embed.image && !embed.author;
    errors.require(at, !isEmpty, 'An embed needs something in it');
  }
}

function checkRows(errors: FormErrors, path: string, rows: FakeComponent[]): void {
  errors.require(path, rows.length <= 5, 'At most 5');
  const ids = rows.flatMap((row) => row.components ?? []).flatMap(({ custom_id: id }) => id ?? []);
  errors.require(path, new Set(ids).size === ids.length, 'The same custom id twice');
  for (const [index, { type, components = [] }] of rows.entries()) {
    const at = `${path}.${index}`;
    const most = components.some((child) => SELECTS.includes(child.type)) ? 1 : 5;
    errors.require(at, type === ComponentType.ActionRow, 'Not an action row');
    errors.require(at, components.length >= 1 && components.length <= most, `1 to ${most} components`);
    for (const [number, child] of components.entries()) {
      checkComponent(errors, `${at}.components.${number}`, child);
    }
  }
}

function checkComponent(errors: FormErrors, at: string, child: FakeComponent): void {
  if (child.type === ComponentType.Button) {
    checkButton(errors, at, child);
    return;
  }
  errors.require(at, SELECTS.includes(child.type), 'Neither a button nor a menu');
  errors.check(at, () => ComponentAssertions.customIdValidator.parse(child.custom_id));
  errors.check(at, () => ComponentAssertions.placeholderValidator.optional().parse(child.placeholder));
  if (child.type !== ComponentType.StringSelect) return;
  const options = child.options ?? [];
  errors.require(at, options.length > 0, 'No option');
  errors.check(at, () => ComponentAssertions.optionsLengthValidator.parse(options.length));
  for (const option of options) errors.check(at, () => ComponentAssertions.jsonOptionValidator.parse(option));
  const values = new Set(options.map(({ value }) => value));
  errors.require(at, values.size === options.length, 'The same option twice');
  const chosen = options.filter((option) => option.default).length;
  errors.require(at, chosen <= (child.max_values ?? 1), 'Too many defaults');
}

function checkButton(errors: FormErrors, at: string, button: FakeComponent): void {
  const { style, label, emoji, custom_id: customId, url } = button;
  errors.check(at, () => ComponentAssertions.buttonStyleValidator.parse(style));
  errors.check(at, () =>
    ComponentAssertions.validateRequiredButtonParameters(style, label, emoji, customId, undefined, url),
  );
  errors.check(at, () => ComponentAssertions.buttonLabelValidator.optional().parse(label));
  if (style !== ButtonStyle.Link) {
    errors.check(at, () => ComponentAssertions.customIdValidator.parse(customId));
    return;
  }
  errors.check(`${at}.url`, () => ComponentAssertions.urlValidator.parse(url), 'URL_TYPE_INVALID_SCHEME');
  errors.require(at, (url ?? '').length <= 512, 'At most 512 characters');
  const { protocol, hostname } = new URL(URL.canParse(url ?? '') ? (url ?? '') : 'https://x.y');
  const isPublic = protocol === 'discord:' || hostname.includes('.');
  errors.require(`${at}.url`, isPublic, 'Not a well formed URL.', 'URL_TYPE_INVALID_URL');
}
