/** Colours the name of a level. */
export type Paint = (level: string, text: string) => string;

/**
 * Formats one JSON line of the log for a terminal: local time, level, message, fields; an error below, with causes and
 * stacks. Names and messages may come from strangers: control characters in them are escaped.
 * @param json what pino writes, with its line end.
 */
export function formatLogLine(json: string, paint: Paint): string {
  const { level, time, msg, err, ...fields } = readObject(json);
  const name = String(level);
  const head = `${toLocalTime(time)} ${paint(name, name.padEnd(5))} ${visible(String(msg ?? ''))}`;
  return `${[head + formatFields(fields), ...formatError(err, '')].join('\n')}\n`;
}

function readObject(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json);
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** `2026-11-21 14:03:05`. */
function toLocalTime(time: unknown): string {
  return new Date(String(time)).toLocaleString('sv-SE');
}

function formatFields(fields: Record<string, unknown>): string {
  const pairs = Object.entries(fields).map(([name, value]) => `${visible(name)}=${formatValue(value)}`);
  return pairs.length === 0 ? '' : `  ${pairs.join(' ')}`;
}

function formatValue(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value);
  return visible(isPlain ? value : JSON.stringify(value));
}

/** @param err as the logger writes errors: type, message, code, stack, cause; '' before the first of a chain. */
function formatError(err: unknown, introduction: string): string[] {
  if (err === undefined) return [];
  if (!isObject(err)) return [`    ${introduction}${formatValue(err)}`];
  const { type, message, stack, cause, ...fields } = err;
  const frames = typeof stack === 'string' && stack !== '' ? stack.split('\n') : [];
  return [
    `    ${introduction}${visible(`${type}: ${message}`)}${formatFields(fields)}`,
    ...frames.map((frame) => `        ${visible(frame.trim())}`),
    ...formatError(cause, 'caused by '),
  ];
}

/** Escapes what a terminal would interpret or not show: control and format characters, line separators. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const known = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
    return known ?? escapeUnits(character);
  });
}

function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
