// Compiles the template engine from Go to WebAssembly with limited memory. Writes engine.wasm.br, engine.sha256 and
// LICENSES.txt, the licences of the engine's modules. Run it after each change of the Go files:
// `node deploy/templates/build.ts`. test/env/template-engine-build.test.ts rebuilds the engine and compares the files.
// engine.sha256 is the checksum of the uncompressed module, so that it does not depend on brotli.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

const PAGE_BYTES = 65_536
const MEMORY_SECTION = 5
const WASM_HEADER_BYTES = 8
const MAX_MEMORY_BYTES = 128 * 1024 * 1024

/**
 * Compiles the engine with the toolchain that go.mod pins, and limits its memory. The same source results in the same
 * bytes.
 */
export function buildEngine(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-engine-'))
  try {
    const output = join(folder, 'engine.wasm')
    const flags = [
      '-mod=readonly',
      '-buildvcs=false',
      '-buildmode=c-shared',
      '-trimpath',
      '-ldflags',
      '-s -w -buildid=',
    ]
    // `env` keeps the caller's environment, from which Go reads the paths of its caches and its proxy.
    const target = ['GOOS=wasip1', 'GOARCH=wasm', 'GOWASM=', 'GOFLAGS=', `GOTOOLCHAIN=${pinnedToolchain()}`]
    execFileSync('env', [...target, 'go', 'build', ...flags, '-o', output, '.'], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    return boundMemory(readFileSync(output), MAX_MEMORY_BYTES)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const LICENCE = /^(?:licen[cs]e|copying|notice)/i

/**
 * The licence texts of Go and of all modules that the engine contains, each with a heading.
 *
 * @throws Error for a module without a licence.
 */
export function licenceTexts(): string {
  const target = ['GOOS=wasip1', 'GOARCH=wasm', 'GOFLAGS=', `GOTOOLCHAIN=${pinnedToolchain()}`]
  const go = (...args: readonly string[]) =>
    execFileSync('env', [...target, 'go', ...args], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  const format = '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}'
  const modules = [...new Set(go('list', '-mod=readonly', '-deps', '-f', format, '.').split('\n'))].filter(Boolean).sort()
  const all = [`Go ${pinnedToolchain().slice(2)} ${go('env', 'GOROOT')}`, ...modules]
  return all.map((line) => licenceOf(...(line.split(' ') as [string, string, string]))).join('\n')
}

function licenceOf(name: string, version: string, folder: string): string {
  const files = readdirSync(folder).filter((file) => LICENCE.test(file)).sort()
  if (files.length === 0) throw new Error(`${name} ${version}: found no licence in ${folder}, expected one`)
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n').trimEnd())
  return `${'='.repeat(80)}\n${name} ${version}\n${'='.repeat(80)}\n\n${texts.join('\n\n')}\n`
}

/**
 * Sets the maximum size of the module's memory. No other limit applies: the `resourceLimits` of a worker thread do not
 * include WebAssembly memory.
 *
 * @throws Error if the module has no memory section, or not exactly one memory.
 */
export function boundMemory(wasm: Buffer, maxBytes: number): Buffer {
  for (let at = WASM_HEADER_BYTES; at < wasm.length;) {
    const size = readLeb(wasm, at + 1)
    const end = size.next + size.value
    if (wasm[at] === MEMORY_SECTION) {
      const section = boundedMemorySection(wasm.subarray(size.next, end), maxBytes / PAGE_BYTES)
      return Buffer.concat([wasm.subarray(0, at), section, wasm.subarray(end)])
    }
    at = end
  }
  throw new Error('module: found no memory section, expected one')
}

function boundedMemorySection(body: Buffer, maxPages: number): Buffer {
  const count = readLeb(body, 0)
  const minimum = readLeb(body, count.next + 1)
  if (count.value !== 1) throw new Error(`memory section: found ${count.value} memories, expected 1`)
  if (minimum.value > maxPages)
    throw new Error(`memory: starts with ${minimum.value} pages, expected at most ${maxPages}`)
  const bounded = Buffer.from([1, 1, ...leb(minimum.value), ...leb(maxPages)])
  return Buffer.concat([Buffer.from([MEMORY_SECTION, ...leb(bounded.length)]), bounded])
}

// LEB128: seven bits per byte, lowest bits first; the top bit is set if another byte follows.
function readLeb(bytes: Buffer, start: number): { value: number; next: number } {
  let value = 0
  for (let at = start, weight = 1; ; at++, weight *= 128) {
    const byte = bytes.readUInt8(at)
    value += (byte & 127) * weight
    if (byte < 128) return { value, next: at + 1 }
  }
}

function leb(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...leb(Math.floor(value / 128))]
}

function pinnedToolchain(): string {
  const found = /^toolchain (go\S+)$/m.exec(readFileSync(join(import.meta.dirname, 'go.mod'), 'utf8'))?.[1]
  if (found === undefined) throw new Error('go.mod: found no toolchain line, expected one, e.g. toolchain go1.26.8')
  return found
}

/** The SHA-256 checksum in hexadecimal, the format of engine.sha256. */
export function checksum(wasm: Buffer): string {
  return createHash('sha256').update(wasm).digest('hex')
}

if (import.meta.main) {
  const wasm = buildEngine()
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: wasm.length,
  }
  writeFileSync(join(import.meta.dirname, 'engine.wasm.br'), brotliCompressSync(wasm, { params }))
  writeFileSync(join(import.meta.dirname, 'LICENSES.txt'), licenceTexts())
  writeFileSync(join(import.meta.dirname, 'engine.sha256'), `${checksum(wasm)}  engine.wasm\n`)
}
