import pino, { type Logger } from 'pino';

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

/** Structured logs, one JSON object a line, on stdout (1) or stderr (2). */
export function createLogger(level: string, fd: 1 | 2 = 1): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '…' },
      serializers: { err: serializeError },
    },
    pino.destination({ fd, sync: true }),
  );
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

/** Passwords in addresses; tokens and Steam's Web API key (`key=`) in queries. */
function withoutSecrets(text: string): string {
  return text
    .replace(/\/\/[^@/\s]*@/g, '//…@')
    .replace(/\b(api_token|key)=[^&\s]+/g, '$1=…')
    .replace(/capi_[0-9A-Za-z]+/g, 'capi_…');
}
