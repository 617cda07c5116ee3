import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'capi';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const PATTERN = new RegExp(`^${PREFIX}_([0-9A-Za-z]{${RANDOM_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`);

/** A new token: `capi_`, 30 random base62 characters (178 bits), and 6 for their CRC-32. */
export function generateApiToken(): string {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    // 248 is the largest multiple of 62 in a byte: beyond it some characters would come up more often.
    for (const byte of randomBytes(RANDOM_LENGTH)) {
      if (byte < 248 && random.length < RANDOM_LENGTH) random += ALPHABET[byte % 62];
    }
  }
  return `${PREFIX}_${random}${checksum(random)}`;
}

/** Whether a text has the form of a token and a correct checksum; anything else is refused without a query. */
export function isApiToken(text: string): boolean {
  const match = PATTERN.exec(text);
  return match?.[1] !== undefined && checksum(match[1]) === match[2];
}

/** SHA-256 in hexadecimal, the only form in which a token is kept. */
export function hashApiToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

type TokenState = 'live' | 'expired' | 'revoked';

/** The state of a token at `now`; only a live one is accepted. `queries/users/api-tokens.ts` has the rule in SQL. */
export function tokenStateOf(
  { revokedAt, expiresAt }: { revokedAt: Date | null; expiresAt: Date | null },
  now: Date,
): TokenState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'live';
}

function checksum(random: string): string {
  let rest = Bun.hash.crc32(random);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
