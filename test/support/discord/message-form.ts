import assert from 'node:assert';
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
  message_reference?: { message_id: string; fail_if_not_exists?: boolean };
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
  const embeds = form.embeds ?? [];
  const refusal = refusalOf(() => {
    assert((form.content ?? '').length <= 2000, 'At most 2000 characters');
    const total = embeds.reduce((sum, embed) => sum + embedLength(embed), 0);
    assert(total <= 6000, 'At most 6000 characters in all embeds');
    for (const embed of embeds) checkEmbed(embed);
    if (!isEdit) for (const { image } of embeds) checkImage(image?.url ?? '', files);
    checkRows(form.components ?? []);
    for (const { description = '' } of form.attachments ?? [])
      assert(description.length <= 1024, 'Descriptions have at most 1024 characters');
  });
  const isEmpty = !form.content && embeds.length === 0 && !form.components?.length && files.length === 0;
  if (isEmpty && !isEdit && !refusal)
    return { message: 'Cannot send an empty message', code: RESTJSONErrorCodes.CannotSendAnEmptyMessage };
  return refusal;
}

/**
 * The body of Discord's error response; undefined when nothing is wrong.
 * @param check throws when a value is refused, as the builders of discord.js do.
 */
export function refusalOf(check: () => void): Record<string, unknown> | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    const code = RESTJSONErrorCodes.InvalidFormBodyOrContentType;
    const errors = { _errors: [{ code: 'INVALID', message: String(error) }] };
    return { message: 'Invalid Form Body', code, errors };
  }
}

function checkEmbed(embed: APIEmbed): void {
  const { title = null, description = null, color = null, fields = [], footer = null, author = null } = embed;
  new EmbedBuilder()
    .setTitle(title)
    .setDescription(description)
    .setColor(color)
    .setFields(fields)
    .setFooter(footer)
    .setAuthor(author)
    .setImage(embed.image?.url ?? null)
    .setThumbnail(embed.thumbnail?.url ?? null);
  const texts = [title, description, ...fields.flatMap(({ name, value }) => [name, value])];
  assert(!texts.some((text) => text?.trim() === ''), 'A text is blank');
  assert(
    title || description || fields.length > 0 || embed.image || author,
    'An embed needs something in it',
  );
}

/** The real service shows a broken image where a file is missing; here it is an error, so that a test notices. */
function checkImage(url: string, files: readonly UploadedFile[]): void {
  const isThere = !url.startsWith('attachment://') || files.some(({ name }) => url.endsWith(`/${name}`));
  assert(isThere, `No file is called ${url}`);
}

function checkRows(rows: FakeComponent[]): void {
  assert(rows.length <= 5, 'At most 5 rows');
  const ids = rows.flatMap((row) => row.components ?? []).flatMap(({ custom_id: id }) => id ?? []);
  assert(new Set(ids).size === ids.length, 'The same custom id twice');
  for (const { components = [] } of rows) {
    const most = components.some(({ type }) => type === ComponentType.StringSelect) ? 1 : 5;
    assert(components.length >= 1 && components.length <= most, `1 to ${most} components in a row`);
    for (const child of components) {
      if (child.type === ComponentType.Button) checkButton(child);
      else checkMenu(child);
    }
  }
}

function checkMenu({ custom_id: customId = '', placeholder = '', options = [] }: FakeComponent): void {
  new StringSelectMenuBuilder().setCustomId(customId).setPlaceholder(placeholder).setOptions(options);
  const values = new Set(options.map(({ value }) => value));
  assert(options.length > 0 && values.size === options.length, 'No option, or one twice');
}

function checkButton({ style = 0, label = '', custom_id: customId = '', url = '' }: FakeComponent): void {
  const button = new ButtonBuilder().setStyle(style).setLabel(label);
  if (style !== ButtonStyle.Link) {
    button.setCustomId(customId);
    return;
  }
  button.setURL(url);
  const isPublic = !URL.canParse(url) || new URL(url).hostname.includes('.');
  assert(isPublic && url.length <= 512, 'Not a well formed URL');
}
