/** Stands in for the Discord id of somebody who was erased. */
export const UNKNOWN_DISCORD_ID = '0';

const LARGEST = 0x7fff_ffff_ffff_ffffn;

/**
 * Whether a text is an id as Discord writes it: a number of at most 63 bits in decimal digits, without leading zeros.
 * Larger numbers do not fit a `bigint` column; Discord will not reach them for some sixty years.
 * @see https://docs.discord.com/developers/reference#snowflakes
 */
export function isDiscordId(text: string): boolean {
  return /^[1-9][0-9]{0,18}$/.test(text) && BigInt(text) <= LARGEST;
}
