/** What we use of the WebAssembly build; the package has no types of its own. */
declare module '@ffmpeg/core' {
  export type FfmpegCore = {
    /** Once an instance: a second call may find the stack used up. */
    exec(...args: string[]): number;
    setLogger(logger: (entry: { type: string; message: string }) => void): void;
    FS: {
      /** With `canOwn` the array itself becomes the file. */
      writeFile(path: string, data: Uint8Array, options: { canOwn: boolean }): void;
      readFile(path: string): Uint8Array;
    };
  };
  type Done = (instance: WebAssembly.Instance, compiled: WebAssembly.Module) => void;
  const createCore: (options: {
    /** Takes the place of fetching and compiling; calls `done` with the instance later. */
    instantiateWasm(imports: WebAssembly.Imports, done: Done): object;
  }) => Promise<FfmpegCore>;
  export default createCore;
}
