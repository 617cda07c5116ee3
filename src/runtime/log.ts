import { isatty } from 'node:tty';
import pino, { type DestinationStream, type Logger } from 'pino';
import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';

/** Keys whose values are never logged, down to two levels of nesting. */
const SECRET_KEYS = [
  'token',
  'api_token',
  'authorization',
  'cookie',
  'password',
  'secret',
  'clientSecret',
  'apiKey',
];

/** Logs to stdout (1) or stderr (2): readable lines on a terminal, otherwise one JSON object a line. */
export function createLogger(level: string, fd: 1 | 2 = 1): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '…' },
      serializers: { err: serializeError },
      // Applied to the finished line, so that no field or message is missed.
      hooks: { streamWrite: withoutTokens },
    },
    openDestination(fd),
  );
}

/** How much is kept of lines that could not be written, until there is room; further lines are dropped. */
const MAX_UNWRITTEN_BYTES = 1_048_576;

function openDestination(fd: 1 | 2): DestinationStream {
  const destination = pino.destination({ fd, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
  // Without a listener, a full disk would make every call of the logger throw.
  destination.on('error', () => {});
  // Dropping a line does not retry the kept ones, but writing an empty line does.
  destination.on('drop', () => destination.write(''));
  return isatty(fd) ? { write: (line) => destination.write(formatLogLine(line)) } : destination;
}

/** An error with its causes and stacks, as the log shows it on a terminal. */
export function describeError(error: unknown): string {
  return formatError(serializeError(error), '').join('\n');
}

/** Message, code, stack and causes; never the parameters of a query. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return {
    type: error.name,
    message: withoutSecrets(error.message.split('\nparams:')[0] ?? ''),
    ...('code' in error && { code: error.code }),
    stack: withoutSecrets(
      (error.stack ?? '')
        .split('\n')
        .filter((line) => line.startsWith('    at '))
        .slice(0, 8)
        .join('\n'),
    ),
    ...(error.cause !== undefined && { cause: serializeError(error.cause) }),
  };
}

/** Removes passwords from URLs, and Steam's Web API key (`key=`) from query strings. */
function withoutSecrets(text: string): string {
  return text.replace(/\/\/[^@/\s]*@/g, '//…@').replace(/\bkey=[^&\s]+/g, 'key=…');
}

/** Removes API tokens from a finished line, which stays valid JSON. */
function withoutTokens(line: string): string {
  return line.replace(/\bapi_token=[^&\s"\\]+/g, 'api_token=…').replace(/capi_[0-9A-Za-z]+/g, 'capi_…');
}

/**
 * Formats one JSON line of the log for a terminal: local time, level, message, fields; an error below, with causes and
 * stacks. Names and messages may come from strangers: control characters in them are escaped.
 * @param json what pino writes, with its line end.
 */
function formatLogLine(json: string): string {
  const { level, time, msg = '', err, ...fields }: Record<string, unknown> = JSON.parse(json);
  // `2026-11-21 14:03:05`.
  const localTime = new Date(String(time)).toLocaleString('sv-SE');
  const head = `${localTime} ${String(level).padEnd(5)} ${msg}${formatFields(fields)}`;
  return `${[head, ...formatError(err, '')].map(escapeUnprintable).join('\n')}\n`;
}

function formatFields(fields: Record<string, unknown>): string {
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${formatValue(value)}`);
  return pairs.length === 0 ? '' : `  ${pairs.join(' ')}`;
}

function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

/** @param err as the logger writes errors: type, message, code, stack, cause; '' before the first of a chain. */
function formatError(err: unknown, introduction: string): string[] {
  if (err === undefined) return [];
  if (typeof err !== 'object' || err === null) return [`    ${introduction}${formatValue(err)}`];
  const { type, message, stack, cause, ...fields }: Record<string, unknown> = { ...err };
  const frames = typeof stack === 'string' && stack !== '' ? stack.split('\n') : [];
  return [
    `    ${introduction}${type}: ${message}${formatFields(fields)}`,
    ...frames.map((frame) => `        ${frame.trim()}`),
    ...formatError(cause, 'caused by '),
  ];
}
