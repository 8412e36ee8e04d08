// The compiled engine in the repository is the build of its source. Needs Go; without Go the test prints a warning and is skipped.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { boundMemory, buildEngine, checksum, licenceTexts } from '../../deploy/templates/build.ts'

const FOLDER = new URL('../../deploy/templates/', import.meta.url)
const BUILD_TIMEOUT_MS = 300_000
const hasGo = spawnSync('go', ['version']).status === 0
if (!hasGo) console.warn('template engine: not rebuilt and compared, because there is no go on the PATH')

describe('the compiled template engine', () => {
  const wasm = brotliDecompressSync(readFileSync(new URL('engine.wasm.br', FOLDER)))
  const kept = readFileSync(new URL('engine.sha256', FOLDER), 'utf8').split(' ')[0]

  it('has the checksum that is stored in engine.sha256', () => {
    expect(checksum(wasm)).toBe(kept)
  })

  it('may not use more than 128 MiB of memory', () => {
    expect(boundMemory(wasm, 128 * 1024 * 1024).equals(wasm)).toBe(true)
    expect(boundMemory(wasm, 64 * 1024 * 1024).equals(wasm)).toBe(false)
  })

  it.skipIf(!hasGo)('is identical to a new build of its source', { timeout: BUILD_TIMEOUT_MS }, () => {
    expect(checksum(buildEngine())).toBe(kept)
  })

  it.skipIf(!hasGo)('comes with the licences of all modules that it contains', { timeout: BUILD_TIMEOUT_MS }, () => {
    const kept = readFileSync(new URL('LICENSES.txt', FOLDER), 'utf8')
    expect(kept).toBe(licenceTexts())
    expect(kept).toContain('github.com/Masterminds/sprig/v3 v3.3.0')
  })
})
