/** The part of the WebAssembly build that is used; the package has no types. */
declare module '@ffmpeg/core' {
  export type FfmpegCore = {
    /** To be called once per instance: a second call may exhaust the stack. */
    exec(...args: string[]): number;
    setLogger(logger: (entry: { type: string; message: string }) => void): void;
    FS: {
      open(path: string, flags: 'w'): FileStream;
      close(stream: FileStream): void;
    };
  };
  /** An open file of Emscripten's file system in memory. */
  export type FileStream = { node: FileNode };
  export type FileNode = {
    /** The size that `stat` reports. */
    usedBytes: number;
    /** Takes effect the next time the file is opened. */
    stream_ops: FileOperations;
  };
  export type FileOperations = {
    llseek(stream: FileStream, offset: number, whence: number): number;
    read: Transfer;
    write: Transfer;
  };
  /** Transfers bytes between the buffer, from `offset`, and the file, from `position`. @returns how many. */
  type Transfer = (
    stream: FileStream,
    buffer: Int8Array,
    offset: number,
    length: number,
    position: number,
  ) => number;
  type Done = (instance: WebAssembly.Instance, compiled: WebAssembly.Module) => void;
  const createCore: (options: {
    /** Replaces fetching and compiling; calls `callback` with the instance later. */
    instantiateWasm(imports: WebAssembly.Imports, callback: Done): object;
  }) => Promise<FfmpegCore>;
  export default createCore;
}
