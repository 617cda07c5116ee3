const LARGEST = 0x7fff_ffff_ffff_ffffn;

/**
 * Whether a text is an id as Discord writes it: a number of at most 63 bits in decimal digits, without leading zeros.
 * Longer ones do not fit the database, and Discord has none for some sixty years to come.
 * @see https://docs.discord.com/developers/reference#snowflakes
 */
export function isDiscordId(text: string): boolean {
  return /^[1-9][0-9]{0,18}$/.test(text) && BigInt(text) <= LARGEST;
}
