import {
  type APIEmbed,
  type APISelectMenuOption,
  ButtonBuilder,
  ButtonStyle,
  ComponentType,
  EmbedBuilder,
  embedLength,
  RESTJSONErrorCodes,
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
  options?: APISelectMenuOption[];
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

export type UploadedFile = { name: string; bytes: Uint8Array };

/**
 * What Discord refuses in a message: its parts are built by discord.js's builders, which validate them; what the builders
 * do not know is checked here.
 * @param options.isEdit what the form leaves out stays, such as the files that embeds show.
 * @see https://docs.discord.com/developers/resources/message#embed-object-embed-limits
 * @see https://docs.discord.com/developers/components/reference
 */
export function checkMessage(
  form: MessageForm,
  files: readonly UploadedFile[],
  { isEdit = false } = {},
): Record<string, unknown> | undefined {
  const errors = new FormErrors();
  const embeds = form.embeds ?? [];
  errors.require((form.content ?? '').length <= 2000, 'At most 2000 characters');
  const total = embeds.reduce((sum, embed) => sum + embedLength(embed), 0);
  errors.require(total <= 6000, 'At most 6000 characters in all embeds');
  for (const embed of embeds) checkEmbed(errors, embed);
  if (!isEdit) for (const { image } of embeds) checkImage(errors, image?.url ?? '', files);
  checkRows(errors, form.components ?? []);
  for (const { description = '' } of form.attachments ?? [])
    errors.require(description.length <= 1024, 'Descriptions have at most 1024 characters');
  const isEmpty = !form.content && embeds.length === 0 && !form.components?.length && files.length === 0;
  if (isEmpty && !isEdit && errors.isEmpty)
    return { message: 'Cannot send an empty message', code: RESTJSONErrorCodes.CannotSendAnEmptyMessage };
  return errors.body();
}

function checkEmbed(errors: FormErrors, embed: APIEmbed): void {
  const { title = null, description = null, color = null, fields = [], footer = null, author = null } = embed;
  errors.check(() =>
    new EmbedBuilder()
      .setTitle(title)
      .setDescription(description)
      .setColor(color)
      .setFields(fields)
      .setFooter(footer)
      .setAuthor(author)
      .setImage(embed.image?.url ?? null)
      .setThumbnail(embed.thumbnail?.url ?? null),
  );
  const texts = [title, description, ...fields.flatMap(({ name, value }) => [name, value])];
  errors.require(!texts.some((text) => text?.trim() === ''), 'A text is blank');
  const isEmpty = !title && !description && fields.length === 0 && !embed.image && !author;
  errors.require(!isEmpty, 'An embed needs something in it');
}

/** The real service shows a broken image where a file is missing; here it is an error, so that a test notices. */
function checkImage(errors: FormErrors, url: string, files: readonly UploadedFile[]): void {
  const isThere = !url.startsWith('attachment://') || files.some(({ name }) => url.endsWith(`/${name}`));
  errors.require(isThere, `No file is called ${url}`);
}

function checkRows(errors: FormErrors, rows: FakeComponent[]): void {
  errors.require(rows.length <= 5, 'At most 5 rows');
  const ids = rows.flatMap((row) => row.components ?? []).flatMap(({ custom_id: id }) => id ?? []);
  errors.require(new Set(ids).size === ids.length, 'The same custom id twice');
  for (const { components = [] } of rows) {
    const most = components.some(({ type }) => type === ComponentType.StringSelect) ? 1 : 5;
    errors.require(components.length >= 1 && components.length <= most, `1 to ${most} components in a row`);
    for (const child of components) {
      if (child.type === ComponentType.Button) checkButton(errors, child);
      else checkMenu(errors, child);
    }
  }
}

function checkMenu(errors: FormErrors, menu: FakeComponent): void {
  const { custom_id: customId = '', placeholder = '', options = [] } = menu;
  errors.check(() =>
    new StringSelectMenuBuilder().setCustomId(customId).setPlaceholder(placeholder).setOptions(options),
  );
  const values = new Set(options.map(({ value }) => value));
  errors.require(options.length > 0 && values.size === options.length, 'No option, or one twice');
  errors.require(options.filter((option) => option.default).length <= 1, 'Too many defaults');
}

function checkButton(errors: FormErrors, button: FakeComponent): void {
  const { style = 0, label = '', custom_id: customId = '', url = '' } = button;
  errors.check(() => new ButtonBuilder().setStyle(style).setLabel(label));
  if (style !== ButtonStyle.Link) {
    errors.check(() => new ButtonBuilder().setCustomId(customId));
    return;
  }
  errors.check(() => new ButtonBuilder().setURL(url));
  const isPublic = !URL.canParse(url) || new URL(url).hostname.includes('.');
  errors.require(isPublic && url.length <= 512, 'Not a well formed URL');
}
