// Types of the WebAssembly API: TypeScript declares them only in its library for browsers.

export interface WasmMemory {
  /** Replaced when the memory grows; read it again after each call. */
  readonly buffer: ArrayBuffer
}

/** A compiled module; threads can share it. */
export interface WasmModule {
  readonly brand?: 'WebAssembly.Module'
}

export interface WasmInstance {
  readonly exports: Readonly<Record<string, unknown>>
}

type WasmImports = Readonly<Record<string, Readonly<Record<string, unknown>>>>

interface WebAssemblyApi {
  readonly compile: (bytes: Uint8Array) => Promise<WasmModule>
  readonly Instance: new (module: WasmModule, imports: WasmImports) => WasmInstance
}

const api = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly

export function compileModule(bytes: Uint8Array): Promise<WasmModule> {
  return api.compile(bytes)
}

export function instantiate(module: WasmModule, imports: WasmImports): WasmInstance {
  return new api.Instance(module, imports)
}
