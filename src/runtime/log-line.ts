import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';

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
  const head = `${toLocalTime(time)} ${paint(name, name.padEnd(5))} ${escapeUnprintable(String(msg ?? ''))}`;
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
  const pairs = Object.entries(fields).map(
    ([name, value]) => `${escapeUnprintable(name)}=${formatValue(value)}`,
  );
  return pairs.length === 0 ? '' : `  ${pairs.join(' ')}`;
}

function formatValue(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value);
  return escapeUnprintable(isPlain ? value : JSON.stringify(value));
}

/** @param err as the logger writes errors: type, message, code, stack, cause; '' before the first of a chain. */
function formatError(err: unknown, introduction: string): string[] {
  if (err === undefined) return [];
  if (!isObject(err)) return [`    ${introduction}${formatValue(err)}`];
  const { type, message, stack, cause, ...fields } = err;
  const frames = typeof stack === 'string' && stack !== '' ? stack.split('\n') : [];
  return [
    `    ${introduction}${escapeUnprintable(`${type}: ${message}`)}${formatFields(fields)}`,
    ...frames.map((frame) => `        ${escapeUnprintable(frame.trim())}`),
    ...formatError(cause, 'caused by '),
  ];
}
