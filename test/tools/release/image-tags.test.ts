import { expect, test } from 'bun:test';
import { listImageTags } from './image-tags.ts';

const RELEASED = ['v1.0.0', 'v1.0.4', 'v1.9.0', 'v1.10.0', 'v2.0.0', 'v2.1.0-rc.1', 'nightly'];

test.each([
  ['2.0.1', ['2.0.1', '2.0', '2', 'latest']],
  ['2.0.0', ['2.0.0', '2.0', '2', 'latest']],
  ['1.0.5', ['1.0.5', '1.0']],
  ['1.0.3', ['1.0.3']],
  ['1.9.1', ['1.9.1', '1.9']],
  ['1.11.0', ['1.11.0', '1.11', '1']],
  ['2.1.0-rc.2', ['2.1.0-rc.2']],
])('the image of %s gets the tags %j', (version, tags) => {
  expect(listImageTags(version, RELEASED)).toEqual(tags);
});

test('the image of the first version gets every tag', () => {
  expect(listImageTags('1.0.0', ['v1.0.0'])).toEqual(['1.0.0', '1.0', '1', 'latest']);
});
