/**
 * The warning that erased people are not recognised, because the secret that identifies them is lost.
 * @param whatFollows how this command can make it worse.
 */
export function describeLostErasures(count: number, whatFollows: string): string {
  const who = count === 1 ? '1 erased person is' : `${count} erased people are`;
  return (
    `warning: ${who} not recognised, since the secret that identifies them is lost: ` +
    `${whatFollows} (docs/privacy.md, "Erased people")`
  );
}
