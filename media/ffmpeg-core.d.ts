/** What we use of the WebAssembly build; the package has no types of its own. */
declare module '@ffmpeg/core' {
  export type FfmpegCore = {
    exec(...args: string[]): number;
    reset(): void;
    setLogger(logger: (entry: { type: string; message: string }) => void): void;
    FS: {
      writeFile(path: string, data: Uint8Array): void;
      readFile(path: string): Uint8Array;
      unlink(path: string): void;
    };
  };
  const createCore: (options: { wasmBinary: Uint8Array }) => Promise<FfmpegCore>;
  export default createCore;
}
