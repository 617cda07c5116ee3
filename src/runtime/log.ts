import { isatty } from 'node:tty';
import { styleText } from 'node:util';
import pino, { type DestinationStream, type Logger } from 'pino';
import { formatLogLine } from './log-line.ts';

/** Keys whose values never reach a log line, wherever they stand. */
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

/** Logs on stdout (1) or stderr (2): lines for people where that is a terminal, else one JSON object a line. */
export function createLogger(level: string, fd: 1 | 2 = 1): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '…' },
      serializers: { err: serializeError },
      // The whole line, so that no field and no message is forgotten.
      hooks: { streamWrite: withoutTokens },
    },
    openDestination(fd),
  );
}

const COLOURS: Record<string, 'yellow' | 'red'> = { warn: 'yellow', error: 'red', fatal: 'red' };

function openDestination(fd: 1 | 2): DestinationStream {
  const destination = pino.destination({ fd, sync: true });
  if (!isatty(fd)) return destination;
  const stream = fd === 1 ? process.stdout : process.stderr;
  // Leaves the text alone where NO_COLOR is set or the terminal has no colours.
  const paint = (level: string, text: string) => {
    const colour = COLOURS[level];
    return colour ? styleText(colour, text, { stream }) : text;
  };
  return { write: (line) => destination.write(formatLogLine(line, paint)) };
}

/** Message, code and stack, causes too; never the values a query was sent with. */
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

/** Passwords in addresses; Steam's Web API key (`key=`) in queries. */
function withoutSecrets(text: string): string {
  return text.replace(/\/\/[^@/\s]*@/g, '//…@').replace(/\bkey=[^&\s]+/g, 'key=…');
}

/** Takes API tokens out of a finished line, which stays JSON. */
function withoutTokens(line: string): string {
  return line.replace(/\bapi_token=[^&\s"\\]+/g, 'api_token=…').replace(/capi_[0-9A-Za-z]+/g, 'capi_…');
}
