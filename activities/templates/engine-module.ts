// Compiles the template engine (deploy/templates, Go compiled to WebAssembly) once per process.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

import { compileModule, type WasmModule } from './web-assembly.ts'

const ENGINE_FILE = new URL('../../deploy/templates/engine.wasm.br', import.meta.url)
const CHECKSUM_FILE = new URL('../../deploy/templates/engine.sha256', import.meta.url)

let compiled: Promise<WasmModule> | undefined

/** The compiled engine; threads can share it. @throws when the file is not the build of its source. */
export function compiledEngine(): Promise<WasmModule> {
  compiled ??= compileEngine()
  return compiled
}

async function compileEngine(): Promise<WasmModule> {
  const [compressed, checksum] = await Promise.all([readFile(ENGINE_FILE), readFile(CHECKSUM_FILE, 'utf8')])
  const wasm = await promisify(brotliDecompress)(compressed)
  const found = createHash('sha256').update(wasm).digest('hex')
  const expected = checksum.split(' ')[0] ?? ''
  if (found !== expected) throw new Error(`template engine: found sha256 ${found}; expected ${expected}`)
  return await compileModule(wasm)
}
