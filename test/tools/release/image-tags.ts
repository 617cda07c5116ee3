/** Orders versions such as `1.10.0`. */
const compare = (one: string, other: string): number => {
  const [ours, theirs] = [one, other].map((version) => version.split('.').map(Number));
  const index = (ours ?? []).findIndex((part, at) => part !== theirs?.[at]);
  return index < 0 ? 0 : (ours?.[index] ?? 0) - (theirs?.[index] ?? 0);
};

/**
 * The tags of the image of a version: besides its own, those of its major and minor version and `latest`, which only
 * move forward. A pre-release such as `1.1.0-rc.1` moves none.
 * @param released all tags of the repository, such as `v1.0.0`.
 */
export function listImageTags(version: string, released: readonly string[]): string[] {
  if (version.includes('-')) return [version];
  const versions = released.flatMap((tag) => /^v([0-9]+\.[0-9]+\.[0-9]+)$/.exec(tag)?.[1] ?? []);
  const [major = '', minor = ''] = version.split('.');
  const moving = [
    { tag: `${major}.${minor}`, prefix: `${major}.${minor}.` },
    { tag: major, prefix: `${major}.` },
    { tag: 'latest', prefix: '' },
  ];
  const isNewest = (prefix: string) =>
    versions.every((other) => !other.startsWith(prefix) || compare(other, version) <= 0);
  return [version, ...moving.filter(({ prefix }) => isNewest(prefix)).map(({ tag }) => tag)];
}
