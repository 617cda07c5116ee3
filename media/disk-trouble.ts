import { errorCauses, errorCode, hasErrorCode } from '../src/domain/errors.ts';
import { saysNoSpace } from './ffmpeg/ffmpeg.ts';

/** Disk full, quota exceeded, read-only, broken, no permission, or out of file descriptors. */
const DISK_CODES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE'];

/**
 * Whether a failure is caused by the disk: the file system reports it by a code, ffmpeg by saying that there is no space.
 * ffmpeg's "Input/output error" does not count: it says the same of a file that ends too early.
 */
export function isDiskTrouble(error: unknown): boolean {
  if (hasErrorCode(error, DISK_CODES)) return true;
  return errorCauses(error).some(({ message }) => saysNoSpace(message));
}

/** Whether a call of the file system failed because the file does not exist. */
export function isNotFound(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}
