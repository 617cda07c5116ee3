/** What we use of the WebAssembly build; the package has no types of its own. */
declare module '@ffmpeg/core' {
  export type FfmpegCore = {
    /** Once an instance: a second call may find the stack used up. */
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
    /** The size that `stat` tells. */
    usedBytes: number;
    /** How its bytes are reached, from the next time it is opened. */
    stream_ops: FileOperations;
  };
  export type FileOperations = {
    llseek(stream: FileStream, offset: number, whence: number): number;
    read: Transfer;
    write: Transfer;
  };
  /** Moves bytes between the buffer, from `offset` on, and the file, from `position` on; tells how many. */
  type Transfer = (
    stream: FileStream,
    buffer: Int8Array,
    offset: number,
    length: number,
    position: number,
  ) => number;
  type Done = (instance: WebAssembly.Instance, compiled: WebAssembly.Module) => void;
  const createCore: (options: {
    /** Takes the place of fetching and compiling; calls `done` with the instance later. */
    instantiateWasm(imports: WebAssembly.Imports, done: Done): object;
  }) => Promise<FfmpegCore>;
  export default createCore;
}
